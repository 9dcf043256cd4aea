// How fast sources become token files, from the files on disk to a cache on disk: the whole preparation of a run's
// data. Prints JSON; a core's rate is of processor time, which other programs' load does not change.
//   bench_sources TOKENIZER.json FOLDER [--threads=N] [--separator=LINE] SOURCE ...      FOLDER: for the cache, which
//   is removed
#include "data/dataset.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

using namespace millrace;

namespace {

double processorSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int run(int argc, char** argv) {
  LocalFileSystem files;
  const Tokenizer tokenizer = valueOrThrow(Tokenizer::load(files, argv[1]));
  DataSpec spec;
  spec.cacheDirectory = Path(argv[2]) / "cache";
  spec.validationFraction = 0;
  spec.chat.chatTemplate.builtIn = "chatml";
  SourceFormat how;
  int threads = 1;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--threads="))
      threads = std::max(1, std::atoi(argument.c_str() + 10));
    else if (argument.starts_with("--separator="))
      how.separator = argument.substr(12);
    else
      spec.sources.push_back({argument, how});
  }
  valueOrThrow(files.remove(spec.cacheDirectory));
  Log log;
  ThreadPool pool(threads);
  const double before = processorSeconds();
  const auto start = std::chrono::steady_clock::now();
  const Dataset dataset = valueOrThrow(prepareDataset(files, pool, log, spec, tokenizer));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double used = processorSeconds() - before;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  valueOrThrow(files.remove(spec.cacheDirectory));
  const double megabytes = static_cast<double>(dataset.summary().textBytes) / 1e6;
  const nlohmann::ordered_json report = {{"text_bytes", dataset.summary().textBytes},
                                         {"documents", dataset.summary().documents},
                                         {"tokens", dataset.summary().trainingTokens},
                                         {"threads", threads},
                                         {"seconds", seconds},
                                         {"processor_seconds", used},
                                         {"megabytes_per_second", megabytes / seconds},
                                         {"megabytes_per_processor_second", megabytes / used},
                                         {"peak_resident_mebibytes", usage.ru_maxrss / 1024}};
  std::printf("%s\n", report.dump(2).c_str());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_sources TOKENIZER.json FOLDER [--threads=N] [--separator=LINE] SOURCE ...\n");
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const EngineException& error) {
    std::fprintf(stderr, "bench_sources: %s\n", error.what());
    return 1;
  }
}

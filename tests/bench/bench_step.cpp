// A training step against its own matrix products alone, in one process. Prints JSON.
//   bench_step quickstart|60m|PROJECT.json [rounds] [steps per round] [threads]
#include "engine/bench.h"
#include "engine/project_file.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace millrace;

namespace {

/// Sixty million parameters, Llama-shaped; every layer is streamed.
Project sixtyMillion() {
  Project project;
  project.name = "60m";
  project.model = ModelConfig{{}, R"({"model_type": "llama", "vocab_size": 16384, "hidden_size": 512,
    "intermediate_size": 1664, "num_hidden_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 8,
    "max_position_embeddings": 512, "tie_word_embeddings": false})"};
  project.tokenizer = TokenizerTraining{16384, MiB};
  project.training.microBatch = 4;
  project.training.context = 512;
  project.memory.vramLimit = GiB;
  project.memory.ramLimit = 4 * GiB;
  project.memory.placement = PlacementChoice::Ram;
  return project;
}

int fail(const Error& error) {
  std::fprintf(stderr, "bench_step: %s\n", error.message.c_str());
  return 1;
}

int number(int argc, char** argv, int index, int fallback) {
  return argc > index ? std::max(1, std::atoi(argv[index])) : fallback;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_step quickstart|60m|PROJECT.json [rounds] [steps per round] [threads]\n");
    return 2;
  }
  LocalFileSystem files;
  const std::string what = argv[1];
  Project project = sixtyMillion();
  if (what != "60m") {
    const Path path = what == "quickstart" ? Path(MILLRACE_SOURCE_DIR) / "projects" / "quickstart.json" : Path(what);
    auto read = readProject(files, path);
    if (!read) return fail(read.error());
    project = std::move(*read);
  }
  project.training.threads = number(argc, argv, 4, static_cast<int>(project.training.threads));
  BenchStepOptions options;
  options.rounds = number(argc, argv, 2, 5);
  options.stepsPerRound = number(argc, argv, 3, 3);
  const auto report = benchStep(files, project, what, options);
  if (!report) return fail(report.error());
  std::printf("%s\n", toJson(*report).c_str());
  return 0;
}

// How fast a text is tokenized: one thread, and all that are asked for, in documents cut at empty lines. Prints JSON.
//   bench_tokenizer TOKENIZER.json TEXT [threads] [rounds]
#include "base/file.h"
#include "base/thread_pool.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace millrace;

namespace {

std::vector<std::string_view> documentsOf(std::string_view text) {
  std::vector<std::string_view> documents;
  while (!text.empty()) {
    std::size_t end = text.find("\n\n", std::min<std::size_t>(4096, text.size()));
    end = end == std::string_view::npos ? text.size() : end + 2;
    documents.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return documents;
}

/// Best seconds of the rounds.
double secondsOf(const Tokenizer& tokenizer, const std::vector<std::string_view>& documents, int threads, int rounds,
                 std::int64_t& tokens) {
  ThreadPool pool(threads);
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<std::size_t> next{0};
    std::atomic<std::int64_t> count{0};
    const auto start = std::chrono::steady_clock::now();
    pool.parallelFor(threads, [&](std::int64_t) {
      std::vector<std::int32_t> ids;
      for (std::size_t i = next++; i < documents.size(); i = next++) {
        ids.clear();
        valueOrThrow(tokenizer.encode(documents[i], false, ids));
        count += static_cast<std::int64_t>(ids.size());
      }
    });
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    tokens = count;
  }
  return best;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_tokenizer TOKENIZER.json TEXT [threads] [rounds]\n");
    return 2;
  }
  const auto number = [&](int index, int fallback) {
    return argc > index ? std::max(1, std::atoi(argv[index])) : fallback;
  };
  try {
    LocalFileSystem files;
    const Tokenizer tokenizer = valueOrThrow(Tokenizer::load(files, argv[1]));
    const std::string text = valueOrThrow(readTextFile(files, argv[2], GiB));
    const auto documents = documentsOf(text);
    const int threads = number(3, 2), rounds = number(4, 3);
    std::int64_t tokens = 0;
    const double one = secondsOf(tokenizer, documents, 1, rounds, tokens);
    const double all = secondsOf(tokenizer, documents, threads, rounds, tokens);
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    const nlohmann::ordered_json report = {
        {"bytes", text.size()}, {"documents", documents.size()},
        {"tokens", tokens},     {"megabytes_per_second", megabytes / one},
        {"threads", threads},   {"megabytes_per_second_on_threads", megabytes / all}};
    std::printf("%s\n", report.dump(2).c_str());
    return 0;
  } catch (const EngineException& error) {
    std::fprintf(stderr, "bench_tokenizer: %s\n", error.what());
    return 1;
  }
}

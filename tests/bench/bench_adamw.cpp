// Host AdamW against the memory traffic it cannot avoid: the same loop of 16 bytes read and 12 bytes written a
// parameter, without arithmetic, taken in turns in one run. Prints JSON.
//   bench_adamw [millions of parameters] [threads] [rounds]
#include "engine/bench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace millrace;

int main(int argc, char** argv) {
  const auto number = [&](int index, int fallback) {
    return argc > index ? std::max(1, std::atoi(argv[index])) : fallback;
  };
  ComputeOptions options;
  options.threads = number(2, 0);
  const auto report = benchOptimizer(options, number(1, 64) * std::int64_t{1'000'000}, number(3, 9));
  if (!report) {
    std::fprintf(stderr, "bench_adamw: %s\n", report.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", toJson(*report).c_str());
  return 0;
}

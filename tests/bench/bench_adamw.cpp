// Host AdamW against the memory traffic it cannot avoid: the same loop of 16 bytes read and 12 bytes written a
// parameter, without arithmetic, taken in turns in one run. Prints JSON.
//   bench_adamw [millions of parameters] [threads] [rounds]
#include "base/thread_pool.h"
#include "device/cpu/ops/adamw.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace millrace;

namespace {

typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));

/// Huge pages where the system gives them, touched by the pool's threads.
template <class T>
T* allocate(ThreadPool& pool, std::int64_t count, T value) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("bench_adamw: mmap");
    std::exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  T* values = static_cast<T*>(memory);
  constexpr std::int64_t piece = 1 << 20;
  pool.parallelFor((count + piece - 1) / piece, [&](std::int64_t i) {
    std::fill(values + i * piece, values + std::min(count, (i + 1) * piece), value);
  });
  return values;
}

/// Loads w, m, v and the gradient, stores w, m and v. `count` is a multiple of 8.
__attribute__((target("avx2"))) void traffic(float* w, float* m, float* v, const float* g, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8) {
    Vector a = *reinterpret_cast<Vector*>(w + i), b = *reinterpret_cast<Vector*>(m + i);
    Vector c = *reinterpret_cast<Vector*>(v + i), d = *reinterpret_cast<const Vector*>(g + i);
    asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d)); // the compiler must not see that nothing changes
    *reinterpret_cast<Vector*>(w + i) = a;
    *reinterpret_cast<Vector*>(m + i) = b;
    *reinterpret_cast<Vector*>(v + i) = c;
  }
}

template <class Work>
double seconds(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

} // namespace

int main(int argc, char** argv) {
  const std::int64_t count =
      (argc > 1 ? std::max(1, std::atoi(argv[1])) : 64) * std::int64_t{1'000'000} / 65536 * 65536;
  const int threads =
      argc > 2 ? std::max(1, std::atoi(argv[2])) : static_cast<int>(std::thread::hardware_concurrency());
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 9;
  if (!supported(AdamWIsa::Avx2)) {
    std::fprintf(stderr, "bench_adamw: this processor has no AVX2\n");
    return 1;
  }
  ThreadPool pool(threads);
  auto* weight = allocate<float>(pool, count, 0.1f);
  auto* m = allocate<float>(pool, count, 0.001f);
  auto* v = allocate<float>(pool, count, 0.0001f);
  auto* gradient = allocate<float>(pool, count, 0.002f);
  auto* hi = allocate<std::uint16_t>(pool, count, 0x3DCC);
  auto* lo = allocate<std::int16_t>(pool, count, 7);

  const Shape shape{count};
  AdamWArgs plain;
  plain.weight = TensorView(weight, DType::F32, shape);
  plain.m = TensorView(m, DType::F32, shape);
  plain.v = TensorView(v, DType::F32, shape);
  plain.gradient = TensorView(gradient, DType::F32, shape);
  plain.scalars = {0.9f, 0.1f, 0.95f, 0.05f, 1e-8f, 1e-6f, 1.0f, 0.9999f, 1.0f};
  plain.decay = true;
  AdamWArgs split = plain;
  split.weight = {};
  split.hi = TensorView(hi, DType::U16, shape);
  split.lo = TensorView(lo, DType::I16, shape);

  const AdamWIsa isa = bestAdamWIsa();
  constexpr std::int64_t piece = 65536;
  std::vector<double> trafficTimes, plainTimes, splitTimes, plainShares, splitShares;
  for (int round = -1; round < rounds; ++round) {
    const double bare = seconds([&] {
      pool.parallelFor(count / piece, [&](std::int64_t i) {
        traffic(weight + i * piece, m + i * piece, v + i * piece, gradient + i * piece, piece);
      });
    });
    const double fp32 = seconds([&] { adamWUpdate(pool, plain, isa); });
    const double planes = seconds([&] { adamWUpdate(pool, split, isa); });
    if (round < 0) continue; // warm-up
    trafficTimes.push_back(bare);
    plainTimes.push_back(fp32);
    splitTimes.push_back(planes);
    plainShares.push_back(bare / fp32);
    splitShares.push_back(bare / planes);
  }
  const auto rate = [&](const std::vector<double>& times) { return static_cast<double>(count) / median(times); };
  nlohmann::json report;
  report["hardware"] = {{"processor", processor()}, {"threads", threads}};
  report["instruction_set"] = std::string(toString(isa));
  report["parameters"] = count;
  report["rounds"] = rounds;
  report["traffic_parameters_per_second"] = rate(trafficTimes);
  report["traffic_bytes_per_second"] = 28 * rate(trafficTimes);
  report["adamw_fp32_parameters_per_second"] = rate(plainTimes);
  report["adamw_split_parameters_per_second"] = rate(splitTimes);
  report["adamw_fp32_share_of_traffic"] = median(plainShares);
  report["adamw_split_share_of_traffic"] = median(splitShares);
  report["goal_share"] = 0.9;
  std::printf("%s\n", report.dump(2).c_str());
  return 0;
}

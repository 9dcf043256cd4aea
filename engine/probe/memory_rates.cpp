#include "probe/memory_rates.h"

#include "device/cpu/ops/adamw.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace millrace {

namespace {

constexpr std::int64_t pieceElements = 65536;

// Vectors of 32 bytes: one register where the processor has AVX, two elsewhere.
typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));

/// Loads w, m, v and the gradient, stores w, m and v.
void traffic(float* w, float* m, float* v, const float* g, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8) {
    Vector a = *reinterpret_cast<Vector*>(w + i), b = *reinterpret_cast<Vector*>(m + i);
    Vector c = *reinterpret_cast<Vector*>(v + i), d = *reinterpret_cast<const Vector*>(g + i);
    asm volatile("" : "+m"(a), "+m"(b), "+m"(c), "+m"(d)); // the compiler must not see that nothing changes
    *reinterpret_cast<Vector*>(w + i) = a;
    *reinterpret_cast<Vector*>(m + i) = b;
    *reinterpret_cast<Vector*>(v + i) = c;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void trafficAvx2(float* w, float* m, float* v, const float* g, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8) {
    Vector a = *reinterpret_cast<Vector*>(w + i), b = *reinterpret_cast<Vector*>(m + i);
    Vector c = *reinterpret_cast<Vector*>(v + i), d = *reinterpret_cast<const Vector*>(g + i);
    asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d));
    *reinterpret_cast<Vector*>(w + i) = a;
    *reinterpret_cast<Vector*>(m + i) = b;
    *reinterpret_cast<Vector*>(v + i) = c;
  }
}
#endif

template <class Work>
double secondsOf(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

Result<AdamWRates> measureAdamW(ThreadPool& pool, std::int64_t parameters, int rounds) {
  const std::int64_t pieces = std::max<std::int64_t>(1, (parameters + pieceElements - 1) / pieceElements);
  const std::int64_t count = pieces * pieceElements;
  // The device gives memory as training has it: of huge pages, and within a limit of what is asked for.
  const auto device = createCpuDevice(pool, 0, 20 * count);
  const Shape shape{count};
  std::vector<Buffer> buffers;
  const auto plane = [&](DType dtype, auto value) -> Result<TensorView> {
    MILLRACE_TRY(Buffer buffer, device->allocate(count * bytesPerElement(dtype), MemorySpace::Host, "the measurement"));
    auto* values = reinterpret_cast<decltype(value)*>(buffer.data());
    pool.parallelFor(pieces, [&](std::int64_t i) { std::fill_n(values + i * pieceElements, pieceElements, value); });
    buffers.push_back(std::move(buffer));
    return TensorView(values, dtype, shape);
  };
  AdamWArgs plain;
  MILLRACE_TRY(plain.weight, plane(DType::F32, 0.1f));
  MILLRACE_TRY(plain.m, plane(DType::F32, 0.001f));
  MILLRACE_TRY(plain.v, plane(DType::F32, 0.0001f));
  MILLRACE_TRY(plain.gradient, plane(DType::F32, 0.002f));
  plain.scalars = {0.9f, 0.1f, 0.95f, 0.05f, 1e-8f, 1e-6f, 1.0f, 0.9999f, 1.0f};
  plain.decay = true;
  AdamWArgs split = plain;
  split.weight = {};
  MILLRACE_TRY(split.hi, plane(DType::U16, std::uint16_t{0x3DCC}));
  MILLRACE_TRY(split.lo, plane(DType::I16, std::int16_t{7}));

  auto* bare = &traffic;
#if defined(__x86_64__)
  if (supported(AdamWIsa::Avx2)) bare = &trafficAvx2;
#endif
  const AdamWIsa isa = bestAdamWIsa();
  std::vector<double> trafficTimes, plainTimes, splitTimes, plainShares, splitShares;
  for (int round = -1; round < rounds; ++round) {
    const double least = secondsOf([&] {
      pool.parallelFor(pieces, [&](std::int64_t i) {
        const std::int64_t at = i * pieceElements;
        bare(plain.weight.as<float>() + at, plain.m.as<float>() + at, plain.v.as<float>() + at,
             plain.gradient.as<float>() + at, pieceElements);
      });
    });
    const double fp32 = secondsOf([&] { adamWUpdate(pool, plain, isa); });
    const double planes = secondsOf([&] { adamWUpdate(pool, split, isa); });
    if (round < 0) continue; // warm-up
    trafficTimes.push_back(least);
    plainTimes.push_back(fp32);
    splitTimes.push_back(planes);
    plainShares.push_back(least / fp32);
    splitShares.push_back(least / planes);
  }
  AdamWRates rates;
  rates.parameters = count;
  rates.instructionSet = toString(isa);
  rates.traffic = static_cast<double>(count) / median(trafficTimes);
  rates.fp32 = static_cast<double>(count) / median(plainTimes);
  rates.split = static_cast<double>(count) / median(splitTimes);
  rates.fp32Share = median(plainShares);
  rates.splitShare = median(splitShares);
  return rates;
}

Result<CopyRates> measureCopies(Device& device, Bytes bytes, int rounds) {
  std::vector<Buffer> host, other;
  for (int i = 0; i < 2; ++i) {
    MILLRACE_TRY(Buffer h, device.allocate(bytes, MemorySpace::Host, "the measurement of copies"));
    MILLRACE_TRY(Buffer d, device.allocate(bytes, MemorySpace::Device, "the measurement of copies"));
    host.push_back(std::move(h));
    other.push_back(std::move(d));
  }
  const auto in = device.createStream("copy-in");
  const auto out = device.createStream("copy-out");
  const auto copyIn = [&] { in->copy(other[0].data(), host[0].data(), bytes); };
  const auto copyOut = [&] { out->copy(host[1].data(), other[1].data(), bytes); };
  const auto wait = [&] {
    in->synchronize();
    out->synchronize();
  };
  std::vector<double> inTimes, outTimes, bothTimes;
  for (int round = -1; round < rounds; ++round) {
    const double a = secondsOf([&] {
      copyIn();
      wait();
    });
    const double b = secondsOf([&] {
      copyOut();
      wait();
    });
    const double both = secondsOf([&] {
      copyIn();
      copyOut();
      wait();
    });
    if (round < 0) continue; // memory is touched for the first time
    inTimes.push_back(a);
    outTimes.push_back(b);
    bothTimes.push_back(both);
  }
  const auto size = static_cast<double>(bytes);
  return CopyRates{bytes, size / median(inTimes), size / median(outTimes), 2 * size / median(bothTimes)};
}

} // namespace millrace

#include "device/cuda/ops/adamw.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

namespace {

__device__ float join(std::uint16_t hi, std::int16_t lo) {
  return __uint_as_float((static_cast<std::uint32_t>(hi) << 16) + static_cast<std::uint32_t>(static_cast<int>(lo)));
}

/// splitWeight() of base/bf16.h.
__device__ void split(float master, std::uint16_t& hi, std::int16_t& lo) {
  std::uint32_t bits = __float_as_uint(master);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) bits = (bits & 0x80000000u) | 0x7FC00000u;
  const std::uint32_t upper = (bits + 0x8000u) >> 16;
  hi = static_cast<std::uint16_t>(upper);
  lo = static_cast<std::int16_t>(static_cast<std::int32_t>(bits - (upper << 16)));
}

/// The sequence of adamw_scalar.cpp. The intrinsics round each operation as IEEE says and are never contracted, and
/// denormals are kept (no -ftz), so the bits are the CPU's.
struct Update {
  AdamWScalars s;
  bool decay;

  __device__ float operator()(float w, float& m, float& v, float gradient) const {
    const float g = __fmul_rn(gradient, s.gradientScale);
    m = __fmaf_rn(s.beta1, m, __fmul_rn(s.oneMinusBeta1, g));
    v = __fmaf_rn(s.beta2, v, __fmul_rn(__fmul_rn(s.oneMinusBeta2, g), g));
    const float d = __fmaf_rn(__fsqrt_rn(v), s.inverseSqrtBias2, s.epsilon);
    const float decayed = decay ? __fmul_rn(w, s.decayFactor) : w;
    return __fmaf_rn(-s.stepSize, __fdiv_rn(m, d), decayed);
  }
};

/// weight, or hi and lo.
struct Planes {
  float* weight;
  std::uint16_t* hi;
  std::int16_t* lo;
  float* m;
  float* v;
};

template <bool Split, int N, class Gradient>
__global__ void adamWKernel(Planes planes, const Gradient* gradients, std::int64_t count, Update update) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  if (i >= count) return;
  float g[N], m[N], v[N], w[N];
  Pack<std::uint16_t, N> hi;
  Pack<std::int16_t, N> lo;
  load(gradients + i, g);
  load(planes.m + i, m);
  load(planes.v + i, v);
  if constexpr (Split) {
    hi = *reinterpret_cast<const Pack<std::uint16_t, N>*>(planes.hi + i);
    lo = *reinterpret_cast<const Pack<std::int16_t, N>*>(planes.lo + i);
  } else {
    load(planes.weight + i, w);
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if constexpr (Split) w[j] = join(hi.values[j], lo.values[j]);
    w[j] = update(w[j], m[j], v[j], g[j]);
    if constexpr (Split) split(w[j], hi.values[j], lo.values[j]);
  }
  store(planes.m + i, m);
  store(planes.v + i, v);
  if constexpr (Split) {
    *reinterpret_cast<Pack<std::uint16_t, N>*>(planes.hi + i) = hi;
    *reinterpret_cast<Pack<std::int16_t, N>*>(planes.lo + i) = lo;
  } else {
    store(planes.weight + i, w);
  }
}

template <bool Split, class Gradient>
void launch(cudaStream_t stream, const AdamWArgs& args) {
  const std::int64_t count = args.m.shape[0];
  const Planes planes{dataOf<float>(args.weight), dataOf<std::uint16_t>(args.hi), dataOf<std::int16_t>(args.lo),
                      dataOf<float>(args.m), dataOf<float>(args.v)};
  const Update update{args.scalars, args.decay};
  const auto run = [&](auto n, std::int64_t first, std::int64_t elements) {
    constexpr int N = decltype(n)::value;
    if (elements == 0) return;
    const auto from = [first](auto* plane) { return plane ? plane + first : nullptr; };
    const Planes part{from(planes.weight), from(planes.hi), from(planes.lo), from(planes.m), from(planes.v)};
    constexpr unsigned threads = 256;
    const auto blocks = static_cast<unsigned>((elements / N + threads - 1) / threads);
    adamWKernel<Split, N>
        <<<blocks, threads, 0, stream>>>(part, dataOf<const Gradient>(args.gradient) + first, elements, update);
  };
  constexpr int wide = 4;
  const std::int64_t packed = count / wide * wide;
  if (readsPacks<wide>(packed, {&args.weight, &args.hi, &args.lo, &args.m, &args.v, &args.gradient})) {
    run(std::integral_constant<int, wide>{}, 0, packed);
    run(std::integral_constant<int, 1>{}, packed, count - packed);
  } else {
    run(std::integral_constant<int, 1>{}, 0, count);
  }
}

} // namespace

void adamW(cudaStream_t stream, const AdamWArgs& args) {
  if (args.m.shape[0] == 0) return;
  dispatchActivation(args.gradient.dtype, [&](auto gradient) {
    using Gradient = decltype(gradient);
    if (args.weight.valid())
      launch<false, Gradient>(stream, args);
    else
      launch<true, Gradient>(stream, args);
  });
  checkLaunch("the adamW kernel");
}

} // namespace millrace::cuda

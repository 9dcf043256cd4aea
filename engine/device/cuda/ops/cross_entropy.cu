#include "device/cuda/ops/cross_entropy.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

#include <type_traits>

namespace millrace::cuda {

namespace {

constexpr int threadsOfRow = 512;

/// The largest logit so far and the sum of exp(logit - largest).
struct Softmax {
  float largest = -INFINITY;
  float sum = 0;

  __device__ void add(float logit) {
    if (logit > largest) {
      sum *= expf(largest - logit);
      largest = logit;
    }
    // A logit that is no number makes the sum one that is none.
    sum += logit == -INFINITY ? 0 : expf(logit - largest);
  }
  __device__ void merge(const Softmax& other) {
    const float both = fmaxf(largest, other.largest);
    if (both == -INFINITY) {
      sum += other.sum;
      return;
    }
    sum = sum * expf(largest - both) + other.sum * expf(other.largest - both);
    largest = both;
  }
};

__device__ Softmax blockSoftmax(Softmax mine) {
  __shared__ Softmax warps[threadsOfRow / 32];
  const auto across = [&] {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      Softmax other;
      other.largest = __shfl_xor_sync(0xffffffffu, mine.largest, offset);
      other.sum = __shfl_xor_sync(0xffffffffu, mine.sum, offset);
      mine.merge(other);
    }
  };
  across();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = threadIdx.x % 32 < threadsOfRow / 32 ? warps[threadIdx.x % 32] : Softmax{};
  across();
  return mine;
}

/// A block a row. Gradients take the place of the logits, the narrower bf16 the front of the row: what is written has
/// been read by then, since every piece is read whole before any of it is written, further ahead than it is written to.
template <class Gradient, int N>
__global__ void crossEntropyKernel(float* logits, std::int64_t stride, std::int64_t vocabulary,
                                   const std::int32_t* targets, float* loss, float scale, float inverseCap) {
  const std::int64_t row = blockIdx.x;
  const int target = targets[row];
  float* in = logits + row * stride;
  constexpr bool writes = !std::is_void_v<Gradient>;
  if (target < 0) {
    if (threadIdx.x == 0) loss[row] = 0;
    if constexpr (writes) {
      auto* out = reinterpret_cast<Gradient*>(in);
      for (std::int64_t c = threadIdx.x; c < vocabulary; c += threadsOfRow) out[c] = fromFloat<Gradient>(0.0f);
    }
    return;
  }
  Softmax mine;
  for (std::int64_t c = threadIdx.x * N; c < vocabulary; c += threadsOfRow * N) {
    float values[N];
    load(in + c, values);
#pragma unroll
    for (const float value : values) mine.add(value);
  }
  const Softmax all = blockSoftmax(mine);
  if (threadIdx.x == 0) loss[row] = all.largest + logf(all.sum) - in[target];
  if constexpr (writes) {
    __syncthreads(); // the target's logit has been read
    auto* out = reinterpret_cast<Gradient*>(in);
    const float factor = scale / all.sum;
    for (std::int64_t begin = 0; begin < vocabulary; begin += threadsOfRow * N) {
      const std::int64_t c = begin + threadIdx.x * N;
      float values[N];
      if (c < vocabulary) load(in + c, values);
      __syncthreads();
      if (c >= vocabulary) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        float gradient = expf(values[i] - all.largest) * factor;
        if (c + i == target) gradient -= scale;
        // Of the softcap, where there is one: 1 - tanh^2.
        const float tanh = values[i] * inverseCap;
        values[i] = gradient * (1 - tanh * tanh);
      }
      store(out + c, values);
    }
  }
}

template <class Gradient>
void launch(cudaStream_t stream, const CrossEntropyArgs& args) {
  const std::int64_t vocabulary = args.logits.shape[1];
  const auto rows = static_cast<unsigned>(args.logits.shape[0]);
  const auto run = [&](auto n) {
    crossEntropyKernel<Gradient, decltype(n)::value><<<rows, threadsOfRow, 0, stream>>>(
        dataOf<float>(args.logits), args.logits.strides[0], vocabulary, dataOf<const std::int32_t>(args.targets),
        dataOf<float>(args.loss), args.scale, args.softcap > 0 ? 1 / args.softcap : 0.0f);
  };
  if (readsPacks<4>(vocabulary, {&args.logits}))
    run(std::integral_constant<int, 4>{});
  else
    run(std::integral_constant<int, 1>{});
}

} // namespace

void crossEntropy(cudaStream_t stream, const CrossEntropyArgs& args) {
  if (args.logits.shape[0] == 0) return;
  if (!args.dLogits.valid())
    launch<void>(stream, args);
  else if (args.dLogits.dtype == DType::BF16)
    launch<__nv_bfloat16>(stream, args);
  else
    launch<float>(stream, args);
  checkLaunch("the crossEntropy kernel");
}

} // namespace millrace::cuda

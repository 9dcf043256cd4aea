#include "device/cuda/ops/sums.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

#include <algorithm>

namespace millrace::cuda {

namespace {

constexpr int threadsOfBlock = 256;

/// Partials of elements that lie a grid apart; the grid follows from the count.
template <bool Squares>
__global__ void partialSumsKernel(const float* x, std::int64_t count, double* partials) {
  const std::int64_t packs = count / 4;
  const std::int64_t all = static_cast<std::int64_t>(gridDim.x) * threadsOfBlock;
  const std::int64_t mine = static_cast<std::int64_t>(blockIdx.x) * threadsOfBlock + threadIdx.x;
  double sum = 0;
  const auto add = [&](float value) {
    const double wide = value;
    if constexpr (Squares)
      sum = fma(wide, wide, sum);
    else
      sum += wide;
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
  for (std::int64_t i = mine; i < packs; i += all) {
    float values[4];
    if (aligned) {
      load(x + 4 * i, values);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) values[j] = x[4 * i + j];
    }
#pragma unroll
    for (const float value : values) add(value);
  }
  if (mine < count % 4) add(x[4 * packs + mine]);
  __shared__ double scratch[32];
  sum = blockSum(sum, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// Squares are written, plain sums added to what is there.
template <bool Squares>
__global__ void addPartialsKernel(const double* partials, int count, double* total) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += threadsOfBlock) sum += partials[i];
  __shared__ double scratch[32];
  sum = blockSum(sum, scratch);
  if (threadIdx.x == 0) *total = Squares ? sum : *total + sum;
}

template <bool Squares>
void addSum(cudaStream_t stream, const TensorView& x, const TensorView& total, const Workspace& workspace) {
  const std::int64_t count = x.shape.elements();
  if (count == 0) return;
  constexpr std::int64_t mostBlocks = 1024, packsOfThread = 8;
  const std::int64_t wanted = count / (4 * packsOfThread * threadsOfBlock);
  const auto blocks = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, mostBlocks));
  auto* partials = reinterpret_cast<double*>(workspace.data);
  partialSumsKernel<Squares><<<blocks, threadsOfBlock, 0, stream>>>(dataOf<const float>(x), count, partials);
  checkLaunch("the kernel of partial sums");
  addPartialsKernel<Squares><<<1, threadsOfBlock, 0, stream>>>(partials, blocks, dataOf<double>(total));
  checkLaunch("the kernel that adds partial sums");
}

} // namespace

void sum(cudaStream_t stream, const SumArgs& args, const Workspace& workspace) {
  addSum<false>(stream, args.x, args.sum, workspace);
}

void sumOfSquares(cudaStream_t stream, const SumOfSquaresArgs& args, const Workspace& workspace) {
  addSum<true>(stream, args.x, args.sum, workspace);
}

} // namespace millrace::cuda

// Sums over rows, for gradients of parameters: in two stages whose cuts depend on the shape alone, so that the bits do.
#pragma once

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"
#include "device/cuda/ops/workspace.h"

#include <algorithm>

namespace millrace::cuda {

constexpr int columnSumThreads = 256;

/// Partial p of K sums of `columns` columns adds up rows [p * rowsOfPart, ...). terms(row, column, values) gives the K
/// x N values of a row. Blocks: x over packs of columns, y over partials; within a block threads.y take rows in turn.
template <int K, int N, class Terms>
__global__ void partialSumsKernel(Terms terms, std::int64_t rows, std::int64_t columns, std::int64_t rowsOfPart,
                                  float* partials) {
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  const std::int64_t first = blockIdx.y * rowsOfPart, end = min(rows, first + rowsOfPart);
  float sums[K][N] = {};
  if (column < columns)
    for (std::int64_t row = first + threadIdx.y; row < end; row += blockDim.y) {
      float values[K][N];
      terms(row, column, values);
#pragma unroll
      for (int k = 0; k < K; ++k)
#pragma unroll
        for (int i = 0; i < N; ++i) sums[k][i] += values[k][i];
    }
  __shared__ float shared[K][N][columnSumThreads];
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int i = 0; i < N; ++i) shared[k][i][threadIdx.y * blockDim.x + threadIdx.x] = sums[k][i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (unsigned y = 1; y < blockDim.y; ++y)
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int i = 0; i < N; ++i) sums[k][i] += shared[k][i][y * blockDim.x + threadIdx.x];
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int i = 0; i < N; ++i) partials[(blockIdx.y * K + k) * columns + column + i] = sums[k][i];
}

template <int K>
struct SumTargets {
  float* values[K];
};

template <int K>
__global__ void addPartialsKernel(const float* partials, std::int64_t parts, std::int64_t columns,
                                  SumTargets<K> targets) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= columns) return;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    double sum = 0; // few columns: it costs nothing
    for (std::int64_t part = 0; part < parts; ++part) sum += partials[(part * K + k) * columns + column];
    targets.values[k][column] = static_cast<float>(targets.values[k][column] + sum);
  }
}

/// targets[k][column] += sum over rows of terms.
template <int K, int N, class Terms>
void addColumnSums(cudaStream_t stream, const Terms& terms, std::int64_t rows, std::int64_t columns,
                   const SumTargets<K>& targets, const Workspace& workspace) {
  constexpr std::int64_t mostParts = 256;
  const std::int64_t room = Workspace::size / (static_cast<std::int64_t>(sizeof(float)) * K * columns);
  const std::int64_t parts = std::clamp<std::int64_t>(std::min(rows / 16, room), 1, mostParts);
  const std::int64_t rowsOfPart = (rows + parts - 1) / parts;
  const std::int64_t packs = columns / N;
  unsigned along = 1;
  while (along < 64 && along < packs) along *= 2;
  const dim3 threads(along, columnSumThreads / along);
  const dim3 blocks(static_cast<unsigned>((packs + along - 1) / along), static_cast<unsigned>(parts));
  auto* partials = reinterpret_cast<float*>(workspace.data);
  partialSumsKernel<K, N><<<blocks, threads, 0, stream>>>(terms, rows, columns, rowsOfPart, partials);
  checkLaunch("the kernel of partial sums");
  addPartialsKernel<K>
      <<<static_cast<unsigned>((columns + 127) / 128), 128, 0, stream>>>(partials, parts, columns, targets);
  checkLaunch("the kernel that adds partial sums");
}

} // namespace millrace::cuda

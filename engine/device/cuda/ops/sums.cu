#include "device/cuda/ops/sums.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

#include <algorithm>
#include <cassert>

namespace millrace::cuda {

namespace {

constexpr int threadsOfBlock = 256;

__device__ bool readsFours(const float* x) {
  return reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
}

__device__ void loadFour(const float* x, bool aligned, float (&values)[4]) {
  if (aligned) {
    load(x, values);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = x[i];
}

/// Partials of elements that lie a grid apart; the grid follows from the count.
__global__ void partialSumsKernel(const float* x, std::int64_t count, double* partials) {
  const std::int64_t packs = count / 4;
  const std::int64_t all = static_cast<std::int64_t>(gridDim.x) * threadsOfBlock;
  const std::int64_t mine = static_cast<std::int64_t>(blockIdx.x) * threadsOfBlock + threadIdx.x;
  double sum = 0;
  const bool aligned = readsFours(x);
  for (std::int64_t i = mine; i < packs; i += all) {
    float values[4];
    loadFour(x + 4 * i, aligned, values);
#pragma unroll
    for (const float value : values) sum += static_cast<double>(value);
  }
  if (mine < count % 4) sum += static_cast<double>(x[4 * packs + mine]);
  __shared__ double scratch[32];
  sum = blockSum(sum, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void addPartialsKernel(const double* partials, int count, double* total) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += threadsOfBlock) sum += partials[i];
  __shared__ double scratch[32];
  sum = blockSum(sum, scratch);
  if (threadIdx.x == 0) *total += sum;
}

constexpr int lanes = SumOfSquaresArgs::lanes;
constexpr std::int64_t pieceLength = SumOfSquaresArgs::piece;
static_assert(lanes == 4 * 32, "a thread of a warp has four lanes");

/// A warp for each piece.
__global__ void pieceSquaresKernel(const float* x, std::int64_t count, std::int64_t pieces, double* sumsOfPieces) {
  const std::int64_t piece = (static_cast<std::int64_t>(blockIdx.x) * threadsOfBlock + threadIdx.x) / 32;
  if (piece >= pieces) return;
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const float* from = x + piece * pieceLength;
  const std::int64_t length = min(pieceLength, count - piece * pieceLength);
  const bool aligned = readsFours(from);
  double sums[4] = {};
  const auto square = [&](int lane, float value) {
    const double wide = value; // its square is exact
    sums[lane] = fma(wide, wide, sums[lane]);
  };
  std::int64_t at = 0;
#pragma unroll 8
  for (; at + lanes <= length; at += lanes) {
    float values[4];
    loadFour(from + at + 4 * thread, aligned, values);
#pragma unroll
    for (int i = 0; i < 4; ++i) square(i, values[i]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (at + 4 * thread + i < length) square(i, from[at + 4 * thread + i]);
  for (int apart = 16; apart > 0; apart /= 2)
#pragma unroll
    for (double& sum : sums) sum += __shfl_down_sync(0xffffffffu, sum, apart);
  if (thread == 0) sumsOfPieces[piece] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

__global__ void foldPiecesKernel(const double* sumsOfPieces, std::int64_t pieces, double* total) {
  __shared__ double sums[lanes];
  const int lane = static_cast<int>(threadIdx.x);
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = lane; i < pieces; i += lanes) sum += sumsOfPieces[i];
  sums[lane] = sum;
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) sums[lane] += sums[lane + half];
  }
  if (lane == 0) *total = sums[0];
}

} // namespace

void sum(cudaStream_t stream, const SumArgs& args, const Workspace& workspace) {
  const std::int64_t count = args.x.shape.elements();
  if (count == 0) return;
  constexpr std::int64_t mostBlocks = 1024, packsOfThread = 8;
  const std::int64_t wanted = count / (4 * packsOfThread * threadsOfBlock);
  const auto blocks = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, mostBlocks));
  auto* partials = reinterpret_cast<double*>(workspace.data);
  partialSumsKernel<<<blocks, threadsOfBlock, 0, stream>>>(dataOf<const float>(args.x), count, partials);
  checkLaunch("the kernel of partial sums");
  addPartialsKernel<<<1, threadsOfBlock, 0, stream>>>(partials, blocks, dataOf<double>(args.sum));
  checkLaunch("the kernel that adds partial sums");
}

void sumOfSquares(cudaStream_t stream, const SumOfSquaresArgs& args, const Workspace& workspace) {
  const std::int64_t count = args.x.shape.elements();
  const std::int64_t pieces = (count + pieceLength - 1) / pieceLength;
  assert(pieces * static_cast<Bytes>(sizeof(double)) <= Workspace::size);
  auto* sumsOfPieces = reinterpret_cast<double*>(workspace.data);
  constexpr std::int64_t piecesOfBlock = threadsOfBlock / 32;
  const auto blocks = static_cast<unsigned>((pieces + piecesOfBlock - 1) / piecesOfBlock);
  if (blocks > 0) {
    pieceSquaresKernel<<<blocks, threadsOfBlock, 0, stream>>>(dataOf<const float>(args.x), count, pieces, sumsOfPieces);
    checkLaunch("the kernel of pieces' squares");
  }
  foldPiecesKernel<<<1, lanes, 0, stream>>>(sumsOfPieces, pieces, dataOf<double>(args.sum));
  checkLaunch("the kernel that adds pieces' squares");
}

} // namespace millrace::cuda

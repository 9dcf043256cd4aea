#include "device/cuda/ops/rope.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

namespace {

/// A row is a head of a token; a thread turns N pairs.
template <int N, class T>
__global__ void ropeKernel(T* x, Rows rows, std::int64_t heads, const float* cosSin, std::int64_t half,
                           const std::int32_t* positions, bool inverse) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= rows.count || column >= half) return;
  const float* angle = cosSin + static_cast<std::int64_t>(positions[row / heads]) * 2 * half + column;
  T* at = x + rows.offset(row) + column;
  float first[N], second[N];
  load(at, first);
  load(at + half, second);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float cosine = angle[i], sine = inverse ? -angle[half + i] : angle[half + i];
    const float turned = first[i] * cosine - second[i] * sine;
    second[i] = second[i] * cosine + first[i] * sine;
    first[i] = turned;
  }
  store(at, first);
  store(at + half, second);
}

} // namespace

void rope(cudaStream_t stream, const RopeArgs& args) {
  const Rows rows(args.x);
  const std::int64_t half = args.cosSin.shape[1] / 2;
  if (rows.count * half == 0) return;
  dispatchPacks(args.x.dtype, half, {&args.x}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(rows.count, half / N);
    ropeKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(dataOf<T>(args.x), rows, args.x.shape[1],
                                                            dataOf<const float>(args.cosSin), half,
                                                            dataOf<const std::int32_t>(args.positions), args.inverse);
  });
  checkLaunch("the rope kernel");
}

} // namespace millrace::cuda

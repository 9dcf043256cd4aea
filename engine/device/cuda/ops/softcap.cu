#include "device/cuda/ops/softcap.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

namespace {

template <int N>
__global__ void softcapKernel(float* x, Rows rows, float softcap) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= rows.count || column >= rows.columns) return;
  float* at = x + rows.offset(row) + column;
  float values[N];
  load(at, values);
#pragma unroll
  for (float& value : values) value = softcap * tanhf(value / softcap);
  store(at, values);
}

} // namespace

void softcap(cudaStream_t stream, const SoftcapArgs& args) {
  const Rows rows(args.x);
  if (rows.count * rows.columns == 0) return;
  const auto run = [&](auto n) {
    constexpr int N = decltype(n)::value;
    const RowGrid grid(rows.count, rows.columns / N);
    softcapKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(dataOf<float>(args.x), rows, args.softcap);
  };
  if (readsPacks<4>(rows.columns, {&args.x}))
    run(std::integral_constant<int, 4>{});
  else
    run(std::integral_constant<int, 1>{});
  checkLaunch("the softcap kernel");
}

} // namespace millrace::cuda

#include "device/cuda/ops/convert.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

namespace {

template <int N, class From, class To>
__global__ void convertKernel(const From* x, Rows from, To* y, Rows to) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= from.count || column >= from.columns) return;
  float values[N];
  load(x + from.offset(row) + column, values);
  store(y + to.offset(row) + column, values);
}

template <class From, class To>
void launch(cudaStream_t stream, const ConvertArgs& args) {
  const Rows from(args.x), to(args.y);
  constexpr int wide = 16 / static_cast<int>(std::max(sizeof(From), sizeof(To)));
  const auto run = [&](auto n) {
    constexpr int N = decltype(n)::value;
    const RowGrid grid(from.count, from.columns / N);
    convertKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(static_cast<const From*>(args.x.data), from,
                                                               static_cast<To*>(args.y.data), to);
  };
  if (readsPacks<wide>(from.columns, {&args.x, &args.y}))
    run(std::integral_constant<int, wide>{});
  else
    run(std::integral_constant<int, 1>{});
}

} // namespace

void convert(cudaStream_t stream, const ConvertArgs& args) {
  if (args.x.shape.elements() == 0) return;
  dispatchActivation(args.x.dtype, [&](auto from) {
    dispatchActivation(args.y.dtype, [&](auto to) { launch<decltype(from), decltype(to)>(stream, args); });
  });
  checkLaunch("the convert kernel");
}

} // namespace millrace::cuda

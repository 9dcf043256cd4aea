#include "device/cuda/ops/activation.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"
#include "device/cuda/ops/pointwise.cuh"

namespace millrace::cuda {

namespace {

template <class Function, int N, class T>
__global__ void forwardKernel(const T* x, Rows xRows, T* y, Rows yRows) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= xRows.count || column >= xRows.columns) return;
  float values[N];
  load(x + xRows.offset(row) + column, values);
#pragma unroll
  for (float& value : values) value = Function::value(value);
  store(y + yRows.offset(row) + column, values);
}

template <class Function, int N, class T>
__global__ void backwardKernel(const T* dY, Rows dYRows, const T* x, Rows xRows, T* dX, Rows dXRows) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= xRows.count || column >= xRows.columns) return;
  float values[N], gradients[N];
  load(x + xRows.offset(row) + column, values);
  load(dY + dYRows.offset(row) + column, gradients);
#pragma unroll
  for (int i = 0; i < N; ++i) gradients[i] *= Function::slope(values[i]);
  store(dX + dXRows.offset(row) + column, gradients);
}

} // namespace

void activation(cudaStream_t stream, const ActivationArgs& args) {
  const Rows x(args.x), y(args.y);
  if (x.count * x.columns == 0) return;
  dispatchPacks(args.x.dtype, x.columns, {&args.x, &args.y}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(x.count, x.columns / N);
    dispatchPointwise(args.activation, [&](auto function) {
      forwardKernel<decltype(function), N>
          <<<grid.blocks, grid.threads, 0, stream>>>(dataOf<const T>(args.x), x, dataOf<T>(args.y), y);
    });
  });
  checkLaunch("the activation kernel");
}

void activationBackward(cudaStream_t stream, const ActivationBackwardArgs& args) {
  const Rows x(args.x), dY(args.dY), dX(args.dX);
  if (x.count * x.columns == 0) return;
  dispatchPacks(args.x.dtype, x.columns, {&args.x, &args.dY, &args.dX}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(x.count, x.columns / N);
    dispatchPointwise(args.activation, [&](auto function) {
      backwardKernel<decltype(function), N><<<grid.blocks, grid.threads, 0, stream>>>(
          dataOf<const T>(args.dY), dY, dataOf<const T>(args.x), x, dataOf<T>(args.dX), dX);
    });
  });
  checkLaunch("the activationBackward kernel");
}

} // namespace millrace::cuda

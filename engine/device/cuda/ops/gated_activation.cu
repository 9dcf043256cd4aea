#include "device/cuda/ops/gated_activation.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"
#include "device/cuda/ops/pointwise.cuh"

namespace millrace::cuda {

namespace {

template <class Function, int N, class T>
__global__ void forwardKernel(const T* gateUp, Rows from, T* y, Rows to) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= to.count || column >= to.columns) return;
  float gate[N], up[N];
  const T* at = gateUp + from.offset(row) + column;
  load(at, gate);
  load(at + to.columns, up);
#pragma unroll
  for (int i = 0; i < N; ++i) up[i] *= Function::value(gate[i]);
  store(y + to.offset(row) + column, up);
}

/// Each thread writes where it alone has read, so that the gradients may take the place of the values.
template <class Function, int N, class T>
__global__ void backwardKernel(const T* dY, Rows dYRows, const T* gateUp, Rows from, T* dGateUp, Rows to) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= dYRows.count || column >= dYRows.columns) return;
  float gradient[N], gate[N], up[N], dGate[N], dUp[N];
  const T* at = gateUp + from.offset(row) + column;
  load(dY + dYRows.offset(row) + column, gradient);
  load(at, gate);
  load(at + dYRows.columns, up);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    dGate[i] = gradient[i] * up[i] * Function::slope(gate[i]);
    dUp[i] = gradient[i] * Function::value(gate[i]);
  }
  T* target = dGateUp + to.offset(row) + column;
  store(target, dGate);
  store(target + dYRows.columns, dUp);
}

} // namespace

void gatedActivation(cudaStream_t stream, const GatedActivationArgs& args) {
  const Rows from(args.gateUp), to(args.y);
  if (to.count * to.columns == 0) return;
  dispatchPacks(args.y.dtype, to.columns, {&args.gateUp, &args.y}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(to.count, to.columns / N);
    dispatchPointwise(args.activation, [&](auto function) {
      forwardKernel<decltype(function), N>
          <<<grid.blocks, grid.threads, 0, stream>>>(dataOf<const T>(args.gateUp), from, dataOf<T>(args.y), to);
    });
  });
  checkLaunch("the gatedActivation kernel");
}

void gatedActivationBackward(cudaStream_t stream, const GatedActivationBackwardArgs& args) {
  const Rows dY(args.dY), from(args.gateUp), to(args.dGateUp);
  if (dY.count * dY.columns == 0) return;
  dispatchPacks(args.dY.dtype, dY.columns, {&args.dY, &args.gateUp, &args.dGateUp}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(dY.count, dY.columns / N);
    dispatchPointwise(args.activation, [&](auto function) {
      backwardKernel<decltype(function), N><<<grid.blocks, grid.threads, 0, stream>>>(
          dataOf<const T>(args.dY), dY, dataOf<const T>(args.gateUp), from, dataOf<T>(args.dGateUp), to);
    });
  });
  checkLaunch("the gatedActivationBackward kernel");
}

} // namespace millrace::cuda

#include "device/cuda/ops/rms_norm.h"

#include "device/cuda/ops/column_sums.cuh"
#include "device/cuda/ops/norm_backward.cuh"
#include "device/cuda/ops/row_sums.cuh"

namespace millrace::cuda {

namespace {

/// A row is read twice, the second time from the cache.
template <int Threads, int N, class T>
__global__ void forwardKernel(const T* x, Rows from, const T* weight, float weightOffset, const T* residual,
                              Rows residualRows, T* y, Rows to, float* rstd, float epsilon) {
  using Share = RowShare<Threads>;
  const std::int64_t row = Share::row();
  if (row >= from.count) return;
  const T* in = x + from.offset(row);
  float squares = 0;
  for (std::int64_t c = threadIdx.x * N; c < from.columns; c += Threads * N) {
    float values[N];
    load(in + c, values);
#pragma unroll
    for (const float value : values) squares += value * value;
  }
  const float scale = rsqrtf(Share::sum(squares) / static_cast<float>(from.columns) + epsilon);
  if (threadIdx.x == 0) rstd[row] = scale;
  T* out = y + to.offset(row);
  for (std::int64_t c = threadIdx.x * N; c < from.columns; c += Threads * N) {
    float values[N], weights[N];
    load(in + c, values);
    load(weight + c, weights);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = values[i] * scale * (weightOffset + weights[i]);
    if (residual) {
      float others[N];
      load(residual + residualRows.offset(row) + c, others);
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] += others[i];
    }
    store(out + c, values);
  }
}

template <class T>
struct WeightTerms {
  NormBackward<T> b;

  template <int N>
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&values)[1][N]) const {
    float inputs[N];
    load(b.dY + b.dYRows.offset(row) + column, values[0]);
    load(b.x + b.xRows.offset(row) + column, inputs);
    const float scale = b.rstd[row];
#pragma unroll
    for (int i = 0; i < N; ++i) values[0][i] *= inputs[i] * scale;
  }
};

template <int Threads, int N, class T>
__global__ void backwardKernel(NormBackward<T> b, float weightOffset) {
  using Share = RowShare<Threads>;
  const std::int64_t row = Share::row();
  if (row >= b.xRows.count) return;
  const std::int64_t columns = b.xRows.columns;
  const T* dY = b.dY + b.dYRows.offset(row);
  const T* x = b.x + b.xRows.offset(row);
  float products = 0;
  for (std::int64_t c = threadIdx.x * N; c < columns; c += Threads * N) {
    float gradients[N], inputs[N], weights[N];
    load(dY + c, gradients);
    load(x + c, inputs);
    load(b.weight + c, weights);
#pragma unroll
    for (int i = 0; i < N; ++i) products += gradients[i] * (weightOffset + weights[i]) * inputs[i];
  }
  const float scale = b.rstd[row];
  const float back = Share::sum(products) / static_cast<float>(columns) * scale * scale;
  for (std::int64_t c = threadIdx.x * N; c < columns; c += Threads * N) {
    float gradients[N], inputs[N], weights[N];
    load(dY + c, gradients);
    load(x + c, inputs);
    load(b.weight + c, weights);
#pragma unroll
    for (int i = 0; i < N; ++i) gradients[i] = scale * (gradients[i] * (weightOffset + weights[i]) - inputs[i] * back);
    b.write(row, c, gradients);
  }
}

} // namespace

void rmsNorm(cudaStream_t stream, const RmsNormArgs& args) {
  const Rows from(args.x), to(args.y);
  if (from.count * from.columns == 0) return;
  const bool adds = args.residual.valid();
  const Rows residual = adds ? Rows(args.residual) : Rows();
  dispatchPacks(
      args.x.dtype, from.columns, {&args.x, &args.weight, &args.y, &args.residual}, [&](auto element, auto n) {
        using T = decltype(element);
        constexpr int N = decltype(n)::value;
        dispatchRows(from.count, from.columns / N, [&](auto share, dim3 blocks, dim3 threads) {
          forwardKernel<decltype(share)::value, N>
              <<<blocks, threads, 0, stream>>>(dataOf<const T>(args.x), from, dataOf<const T>(args.weight),
                                               args.weightOffset, adds ? dataOf<const T>(args.residual) : nullptr,
                                               residual, dataOf<T>(args.y), to, dataOf<float>(args.rstd), args.epsilon);
        });
      });
  checkLaunch("the rmsNorm kernel");
}

void rmsNormBackward(cudaStream_t stream, const RmsNormBackwardArgs& args, const Workspace& workspace) {
  const Rows x(args.x);
  if (x.count * x.columns == 0) return;
  dispatchPacks(args.x.dtype, x.columns, {&args.dY, &args.x, &args.weight, &args.dX, &args.dResidual},
                [&](auto element, auto n) {
                  using T = decltype(element);
                  constexpr int N = decltype(n)::value;
                  const NormBackward<T> b(args);
                  // First the weights' gradient: dX may take the place of what it reads.
                  addColumnSums<1, N>(stream, WeightTerms<T>{b}, x.count, x.columns,
                                      SumTargets<1>{{dataOf<float>(args.dWeight)}}, workspace);
                  dispatchRows(x.count, x.columns / N, [&](auto share, dim3 blocks, dim3 threads) {
                    backwardKernel<decltype(share)::value, N><<<blocks, threads, 0, stream>>>(b, args.weightOffset);
                  });
                });
  checkLaunch("the rmsNormBackward kernel");
}

} // namespace millrace::cuda

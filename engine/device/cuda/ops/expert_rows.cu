#include "device/cuda/ops/expert_rows.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/row_sums.cuh"

namespace millrace::cuda {

namespace {

template <int N, class T>
__global__ void combineKernel(const T* x, Rows xRows, const std::int32_t* rows, const float* weights, int choices,
                              const T* residual, Rows residualRows, T* y, Rows to) {
  const std::int64_t token = gridRow(), column = gridPack() * N;
  if (token >= to.count || column >= to.columns) return;
  float sums[N] = {};
  for (std::int64_t c = token * choices; c < (token + 1) * choices; ++c) {
    float values[N];
    load(x + xRows.offset(rows[c]) + column, values);
    const float weight = weights ? weights[c] : 1.0f;
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += values[i] * weight;
  }
  if (residual) {
    float others[N];
    load(residual + residualRows.offset(token) + column, others);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += others[i];
  }
  store(y + to.offset(token) + column, sums);
}

template <int Threads, int N, class T>
__global__ void weighKernel(T* dY, Rows dYRows, T* x, Rows xRows, const float* weights, float* dWeights) {
  using Share = RowShare<Threads>;
  const std::int64_t row = Share::row();
  if (row >= xRows.count) return;
  const float weight = weights[row];
  float products = 0;
  for (std::int64_t c = threadIdx.x * N; c < xRows.columns; c += Threads * N) {
    float gradients[N], values[N];
    load(dY + dYRows.offset(row) + c, gradients);
    load(x + xRows.offset(row) + c, values);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      products += gradients[i] * values[i];
      gradients[i] *= weight;
      values[i] *= weight;
    }
    store(dY + dYRows.offset(row) + c, gradients);
    store(x + xRows.offset(row) + c, values);
  }
  products = Share::sum(products);
  if (threadIdx.x == 0) dWeights[row] = products;
}

} // namespace

void combineRows(cudaStream_t stream, const CombineRowsArgs& args) {
  const Rows x(args.x), to(args.y);
  if (to.count * to.columns == 0) return;
  const bool adds = args.residual.valid();
  const Rows residual = adds ? Rows(args.residual) : Rows();
  dispatchPacks(args.y.dtype, to.columns, {&args.x, &args.y, &args.residual}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(to.count, to.columns / N);
    combineKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(
        dataOf<const T>(args.x), x, dataOf<const std::int32_t>(args.rows),
        args.weights.valid() ? dataOf<const float>(args.weights) : nullptr, static_cast<int>(args.rows.shape[1]),
        adds ? dataOf<const T>(args.residual) : nullptr, residual, dataOf<T>(args.y), to);
  });
  checkLaunch("the combineRows kernel");
}

void weighRows(cudaStream_t stream, const WeighRowsArgs& args) {
  const Rows x(args.x), dY(args.dY);
  if (x.count * x.columns == 0) return;
  dispatchPacks(args.x.dtype, x.columns, {&args.x, &args.dY}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    dispatchRows(x.count, x.columns / N, [&](auto share, dim3 blocks, dim3 threads) {
      weighKernel<decltype(share)::value, N><<<blocks, threads, 0, stream>>>(dataOf<T>(args.dY), dY, dataOf<T>(args.x),
                                                                             x, dataOf<const float>(args.weights),
                                                                             dataOf<float>(args.dWeights));
    });
  });
  checkLaunch("the weighRows kernel");
}

} // namespace millrace::cuda

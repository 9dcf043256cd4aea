#include "device/cuda/ops/layer_norm.h"

#include "device/cuda/ops/column_sums.cuh"
#include "device/cuda/ops/norm_backward.cuh"
#include "device/cuda/ops/row_sums.cuh"

namespace millrace::cuda {

namespace {

/// Deviations are summed from the mean: the difference of two large sums would lose what matters.
template <int Threads, int N, class T>
__global__ void forwardKernel(const T* x, Rows from, const T* weight, const T* bias, T* y, Rows to, float* means,
                              float* rstd, float epsilon) {
  using Share = RowShare<Threads>;
  const std::int64_t row = Share::row();
  if (row >= from.count) return;
  const T* in = x + from.offset(row);
  float total = 0, squares = 0;
  for (std::int64_t c = threadIdx.x * N; c < from.columns; c += Threads * N) {
    float values[N];
    load(in + c, values);
#pragma unroll
    for (const float value : values) total += value;
  }
  const float mean = Share::sum(total) / static_cast<float>(from.columns);
  for (std::int64_t c = threadIdx.x * N; c < from.columns; c += Threads * N) {
    float values[N];
    load(in + c, values);
#pragma unroll
    for (const float value : values) squares += (value - mean) * (value - mean);
  }
  const float scale = rsqrtf(Share::sum(squares) / static_cast<float>(from.columns) + epsilon);
  if (threadIdx.x == 0) {
    means[row] = mean;
    rstd[row] = scale;
  }
  T* out = y + to.offset(row);
  for (std::int64_t c = threadIdx.x * N; c < from.columns; c += Threads * N) {
    float values[N], weights[N], biases[N];
    load(in + c, values);
    load(weight + c, weights);
    load(bias + c, biases);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = (values[i] - mean) * scale * weights[i] + biases[i];
    store(out + c, values);
  }
}

/// Gradients of weight and bias.
template <class T>
struct ParameterTerms {
  NormBackward<T> b;
  const float* means;

  template <int N>
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&values)[2][N]) const {
    float inputs[N];
    load(b.dY + b.dYRows.offset(row) + column, values[1]);
    load(b.x + b.xRows.offset(row) + column, inputs);
    const float scale = b.rstd[row], mean = means[row];
#pragma unroll
    for (int i = 0; i < N; ++i) values[0][i] = values[1][i] * (inputs[i] - mean) * scale;
  }
};

template <int Threads, int N, class T>
__global__ void backwardKernel(NormBackward<T> b, const float* means) {
  using Share = RowShare<Threads>;
  const std::int64_t row = Share::row();
  if (row >= b.xRows.count) return;
  const std::int64_t columns = b.xRows.columns;
  const T* dY = b.dY + b.dYRows.offset(row);
  const T* x = b.x + b.xRows.offset(row);
  const float scale = b.rstd[row], mean = means[row];
  float total = 0, products = 0;
  for (std::int64_t c = threadIdx.x * N; c < columns; c += Threads * N) {
    float gradients[N], inputs[N], weights[N];
    load(dY + c, gradients);
    load(x + c, inputs);
    load(b.weight + c, weights);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float g = gradients[i] * weights[i];
      total += g;
      products += g * (inputs[i] - mean) * scale;
    }
  }
  const float meanGradient = Share::sum(total) / static_cast<float>(columns);
  const float meanProduct = Share::sum(products) / static_cast<float>(columns);
  for (std::int64_t c = threadIdx.x * N; c < columns; c += Threads * N) {
    float gradients[N], inputs[N], weights[N];
    load(dY + c, gradients);
    load(x + c, inputs);
    load(b.weight + c, weights);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float normal = (inputs[i] - mean) * scale;
      gradients[i] = scale * (gradients[i] * weights[i] - meanGradient - normal * meanProduct);
    }
    b.write(row, c, gradients);
  }
}

} // namespace

void layerNorm(cudaStream_t stream, const LayerNormArgs& args) {
  const Rows from(args.x), to(args.y);
  if (from.count * from.columns == 0) return;
  dispatchPacks(args.x.dtype, from.columns, {&args.x, &args.weight, &args.bias, &args.y}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    dispatchRows(from.count, from.columns / N, [&](auto share, dim3 blocks, dim3 threads) {
      forwardKernel<decltype(share)::value, N><<<blocks, threads, 0, stream>>>(
          dataOf<const T>(args.x), from, dataOf<const T>(args.weight), dataOf<const T>(args.bias), dataOf<T>(args.y),
          to, dataOf<float>(args.mean), dataOf<float>(args.rstd), args.epsilon);
    });
  });
  checkLaunch("the layerNorm kernel");
}

void layerNormBackward(cudaStream_t stream, const LayerNormBackwardArgs& args, const Workspace& workspace) {
  const Rows x(args.x);
  if (x.count * x.columns == 0) return;
  dispatchPacks(
      args.x.dtype, x.columns, {&args.dY, &args.x, &args.weight, &args.dX, &args.dResidual}, [&](auto element, auto n) {
        using T = decltype(element);
        constexpr int N = decltype(n)::value;
        const NormBackward<T> b(args);
        const auto* means = dataOf<const float>(args.mean);
        // First the parameters' gradients: dX may take the place of what they read.
        addColumnSums<2, N>(stream, ParameterTerms<T>{b, means}, x.count, x.columns,
                            SumTargets<2>{{dataOf<float>(args.dWeight), dataOf<float>(args.dBias)}}, workspace);
        dispatchRows(x.count, x.columns / N, [&](auto share, dim3 blocks, dim3 threads) {
          backwardKernel<decltype(share)::value, N><<<blocks, threads, 0, stream>>>(b, means);
        });
      });
  checkLaunch("the layerNormBackward kernel");
}

} // namespace millrace::cuda

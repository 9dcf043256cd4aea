#include "device/cuda/ops/bias_gradient.h"
#include "device/cuda/ops/column_sums.cuh"

namespace millrace::cuda {

namespace {

template <class T>
struct Gradients {
  const T* dY;
  Rows rows;

  template <int N>
  __device__ void operator()(std::int64_t row, std::int64_t column, float (&values)[1][N]) const {
    load(dY + rows.offset(row) + column, values[0]);
  }
};

} // namespace

void biasGradient(cudaStream_t stream, const BiasGradientArgs& args, const Workspace& workspace) {
  const Rows rows(args.dY);
  if (rows.count * rows.columns == 0) return;
  dispatchPacks(args.dY.dtype, rows.columns, {&args.dY}, [&](auto element, auto n) {
    using T = decltype(element);
    addColumnSums<1, decltype(n)::value>(stream, Gradients<T>{dataOf<const T>(args.dY), rows}, rows.count, rows.columns,
                                         SumTargets<1>{{dataOf<float>(args.dBias)}}, workspace);
  });
}

} // namespace millrace::cuda

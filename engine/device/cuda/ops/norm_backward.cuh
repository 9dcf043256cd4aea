// What the backward passes of both norms read and write.
#pragma once

#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

template <class T>
struct NormBackward {
  const T* dY;
  Rows dYRows;
  const T* x;
  Rows xRows;
  const T* weight;
  const float* rstd;
  T* dX;
  Rows dXRows;
  const T* dResidual; ///< may be null
  Rows dResidualRows;

  template <class Args>
  explicit NormBackward(const Args& args)
      : dY(dataOf<const T>(args.dY)),
        dYRows(args.dY),
        x(dataOf<const T>(args.x)),
        xRows(args.x),
        weight(dataOf<const T>(args.weight)),
        rstd(dataOf<const float>(args.rstd)),
        dX(dataOf<T>(args.dX)),
        dXRows(args.dX),
        dResidual(dataOf<const T>(args.dResidual)) {
    if (dResidual) dResidualRows = Rows(args.dResidual);
  }

  /// dX = gradients [+ dResidual] of N columns. Each thread writes where it alone reads, so that dX may be dY or
  /// dResidual.
  template <int N>
  __device__ void write(std::int64_t row, std::int64_t column, float (&gradients)[N]) const {
    if (dResidual) {
      float others[N];
      load(dResidual + dResidualRows.offset(row) + column, others);
#pragma unroll
      for (int i = 0; i < N; ++i) gradients[i] += others[i];
    }
    store(dX + dXRows.offset(row) + column, gradients);
  }
};

} // namespace millrace::cuda

// One projection of a layer program: y = x W^T (or x W where the family stores weights as (in, out)) and its backward.
#pragma once

#include "device/stream.h"
#include "model/blocks.h"
#include "tensor/tensor.h"

namespace millrace {

/// A block's matrix or vector by role; invalid when the block has none. elements: the block's memory, all of it.
TensorView roleView(const BlockSpec& block, const TensorView& elements, Role role);

struct Linear {
  TensorView weight;                       ///< (out, in), or (in, out) when conv1d
  TensorView bias;                         ///< (out), optional
  TensorView weightGradient, biasGradient; ///< fp32, of the same shapes; absent in forward
  bool conv1d = false;
  bool tf32 = false; ///< see MatmulArgs

  /// y (T, out) = x (T, in) W^T + bias [+ residual].
  void forward(Stream& stream, const TensorView& x, const TensorView& y, const TensorView& residual = {}) const;
  /// dX (T, in) = dY W [+ dResidual].
  void backwardInput(Stream& stream, const TensorView& dY, const TensorView& dX,
                     const TensorView& dResidual = {}) const;
  /// weightGradient += dY^T x; biasGradient += column sums of dY.
  void backwardWeight(Stream& stream, const TensorView& dY, const TensorView& x) const;
};

} // namespace millrace

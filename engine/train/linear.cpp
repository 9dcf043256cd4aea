#include "train/linear.h"

#include "ops/ops.h"

namespace millrace {

TensorView roleView(const BlockSpec& block, const TensorView& elements, Role role) {
  const RoleSpec* spec = block.find(role);
  if (!spec || !elements.valid()) return {};
  return TensorView(elements.rows(spec->offset, spec->shape.elements()).data, elements.dtype, spec->shape);
}

void Linear::forward(Stream& stream, const TensorView& x, const TensorView& y, const TensorView& residual) const {
  ops::matmul(stream,
              {.a = x, .b = weight, .c = y, .transposeB = !conv1d, .bias = bias, .residual = residual, .tf32 = tf32});
}

void Linear::backwardInput(Stream& stream, const TensorView& dY, const TensorView& dX,
                           const TensorView& dResidual) const {
  ops::matmul(stream,
              {.a = dY, .b = weight, .c = dX, .transposeB = conv1d, .bias = {}, .residual = dResidual, .tf32 = tf32});
}

void Linear::backwardWeight(Stream& stream, const TensorView& dY, const TensorView& x) const {
  // The transpose of the product is what a matrix stored the other way takes.
  ops::matmul(stream, {.a = conv1d ? x : dY,
                       .b = conv1d ? dY : x,
                       .c = weightGradient,
                       .transposeA = true,
                       .accumulate = true,
                       .bias = {},
                       .residual = {},
                       .tf32 = tf32});
  if (biasGradient.valid()) ops::biasGradient(stream, {.dY = dY, .dBias = biasGradient});
}

} // namespace millrace

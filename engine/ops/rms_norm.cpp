#include "ops/rms_norm.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

namespace {
/// (T) or (T, heads) for x (T, H) or (T, heads, H).
Shape rowShape(const TensorView& x) {
  return x.shape.rank() == 2 ? Shape{x.shape[0]} : Shape{x.shape[0], x.shape[1]};
}
} // namespace

void rmsNorm(Stream& stream, const RmsNormArgs& args) {
  const Checks check("rmsNorm");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 2, 3);
  check.tensor("y", args.y, {args.x.dtype}, args.x.shape);
  check.tensor("weight", args.weight, {args.x.dtype}, {args.x.shape[-1]});
  check.tensor("rstd", args.rstd, {DType::F32}, rowShape(args.x));
  check.contiguous("rstd", args.rstd);
  if (args.residual.valid()) check.tensor("residual", args.residual, {args.x.dtype}, args.x.shape);
  check.apartOrSame("y", args.y, "x", args.x);
  check.apartOrSame("y", args.y, "residual", args.residual);
  check.apart("y", args.y, "weight", args.weight);
  check.apart("rstd", args.rstd, "x", args.x);
  check.apart("rstd", args.rstd, "y", args.y);
  stream.device().kernels().rmsNorm(stream, args);
}

void rmsNormBackward(Stream& stream, const RmsNormBackwardArgs& args) {
  const Checks check("rmsNormBackward");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 2, 3);
  check.tensor("dY", args.dY, {args.x.dtype}, args.x.shape);
  check.tensor("weight", args.weight, {args.x.dtype}, {args.x.shape[-1]});
  check.tensor("rstd", args.rstd, {DType::F32}, rowShape(args.x));
  check.contiguous("rstd", args.rstd);
  check.tensor("dX", args.dX, {args.x.dtype}, args.x.shape);
  check.tensor("dWeight", args.dWeight, {DType::F32}, {args.x.shape[-1]});
  if (args.dResidual.valid()) check.tensor("dResidual", args.dResidual, {args.x.dtype}, args.x.shape);
  check.apartOrSame("dX", args.dX, "dY", args.dY);
  check.apartOrSame("dX", args.dX, "dResidual", args.dResidual);
  check.apart("dX", args.dX, "x", args.x);
  check.apart("dX", args.dX, "weight", args.weight);
  check.apart("dX", args.dX, "dWeight", args.dWeight);
  stream.device().kernels().rmsNormBackward(stream, args);
}

} // namespace millrace::ops

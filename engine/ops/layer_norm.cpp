#include "ops/layer_norm.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void layerNorm(Stream& stream, const LayerNormArgs& args) {
  const Checks check("layerNorm");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("y", args.y, {args.x.dtype}, args.x.shape);
  check.tensor("weight", args.weight, {args.x.dtype}, {args.x.shape[1]});
  check.tensor("bias", args.bias, {args.x.dtype}, {args.x.shape[1]});
  check.tensor("mean", args.mean, {DType::F32}, {args.x.shape[0]});
  check.tensor("rstd", args.rstd, {DType::F32}, {args.x.shape[0]});
  check.apartOrSame("y", args.y, "x", args.x);
  check.apart("y", args.y, "weight", args.weight);
  check.apart("y", args.y, "bias", args.bias);
  check.apart("mean", args.mean, "rstd", args.rstd);
  stream.device().kernels().layerNorm(stream, args);
}

void layerNormBackward(Stream& stream, const LayerNormBackwardArgs& args) {
  const Checks check("layerNormBackward");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("dY", args.dY, {args.x.dtype}, args.x.shape);
  check.tensor("weight", args.weight, {args.x.dtype}, {args.x.shape[1]});
  check.tensor("mean", args.mean, {DType::F32}, {args.x.shape[0]});
  check.tensor("rstd", args.rstd, {DType::F32}, {args.x.shape[0]});
  check.tensor("dX", args.dX, {args.x.dtype}, args.x.shape);
  check.tensor("dWeight", args.dWeight, {DType::F32}, {args.x.shape[1]});
  check.tensor("dBias", args.dBias, {DType::F32}, {args.x.shape[1]});
  if (args.dResidual.valid()) check.tensor("dResidual", args.dResidual, {args.x.dtype}, args.x.shape);
  check.apartOrSame("dX", args.dX, "dY", args.dY);
  check.apartOrSame("dX", args.dX, "dResidual", args.dResidual);
  check.apart("dX", args.dX, "x", args.x);
  check.apart("dX", args.dX, "weight", args.weight);
  check.apart("dWeight", args.dWeight, "dBias", args.dBias);
  stream.device().kernels().layerNormBackward(stream, args);
}

} // namespace millrace::ops

#include "ops/expert_rows.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void combineRows(Stream& stream, const CombineRowsArgs& args) {
  const Checks check("combineRows");
  check.tensor("y", args.y, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("rows", args.rows, {DType::I32}, 2, 2);
  const Shape choices{args.y.shape[0], args.rows.shape[1]};
  check.tensor("rows", args.rows, {DType::I32}, choices);
  check.contiguous("rows", args.rows);
  check.tensor("x", args.x, {args.y.dtype}, {choices.elements(), args.y.shape[1]});
  if (args.weights.valid()) {
    check.tensor("weights", args.weights, {DType::F32}, choices);
    check.contiguous("weights", args.weights);
  }
  if (args.residual.valid()) check.tensor("residual", args.residual, {args.y.dtype}, args.y.shape);
  check.apart("y", args.y, "x", args.x);
  check.apartOrSame("y", args.y, "residual", args.residual);
  stream.device().kernels().combineRows(stream, args);
}

void weighRows(Stream& stream, const WeighRowsArgs& args) {
  const Checks check("weighRows");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("dY", args.dY, {args.x.dtype}, args.x.shape);
  check.tensor("weights", args.weights, {DType::F32}, {args.x.shape[0]});
  check.tensor("dWeights", args.dWeights, {DType::F32}, {args.x.shape[0]});
  check.apart("dY", args.dY, "x", args.x);
  check.apart("dWeights", args.dWeights, "weights", args.weights);
  stream.device().kernels().weighRows(stream, args);
}

} // namespace millrace::ops

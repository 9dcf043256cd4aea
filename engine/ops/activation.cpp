#include "ops/activation.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void activation(Stream& stream, const ActivationArgs& args) {
  const Checks check("activation");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 1, Shape::maxRank);
  check.tensor("y", args.y, {args.x.dtype}, args.x.shape);
  check.apartOrSame("y", args.y, "x", args.x);
  stream.device().kernels().activation(stream, args);
}

void activationBackward(Stream& stream, const ActivationBackwardArgs& args) {
  const Checks check("activationBackward");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 1, Shape::maxRank);
  check.tensor("dY", args.dY, {args.x.dtype}, args.x.shape);
  check.tensor("dX", args.dX, {args.x.dtype}, args.x.shape);
  check.apartOrSame("dX", args.dX, "dY", args.dY);
  check.apart("dX", args.dX, "x", args.x);
  stream.device().kernels().activationBackward(stream, args);
}

} // namespace millrace::ops

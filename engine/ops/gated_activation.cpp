#include "ops/gated_activation.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void gatedActivation(Stream& stream, const GatedActivationArgs& args) {
  const Checks check("gatedActivation");
  check.tensor("y", args.y, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("gateUp", args.gateUp, {args.y.dtype}, {args.y.shape[0], 2 * args.y.shape[1]});
  check.apart("y", args.y, "gateUp", args.gateUp);
  stream.device().kernels().gatedActivation(stream, args);
}

void gatedActivationBackward(Stream& stream, const GatedActivationBackwardArgs& args) {
  const Checks check("gatedActivationBackward");
  check.tensor("dY", args.dY, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("gateUp", args.gateUp, {args.dY.dtype}, {args.dY.shape[0], 2 * args.dY.shape[1]});
  check.tensor("dGateUp", args.dGateUp, {args.dY.dtype}, args.gateUp.shape);
  check.apartOrSame("dGateUp", args.dGateUp, "gateUp", args.gateUp);
  check.apart("dGateUp", args.dGateUp, "dY", args.dY);
  stream.device().kernels().gatedActivationBackward(stream, args);
}

} // namespace millrace::ops

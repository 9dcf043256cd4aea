#include "ops/bias_gradient.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void biasGradient(Stream& stream, const BiasGradientArgs& args) {
  const Checks check("biasGradient");
  check.tensor("dY", args.dY, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("dBias", args.dBias, {DType::F32}, {args.dY.shape[1]});
  check.apart("dBias", args.dBias, "dY", args.dY);
  stream.device().kernels().biasGradient(stream, args);
}

} // namespace millrace::ops

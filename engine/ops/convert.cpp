#include "ops/convert.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void convert(Stream& stream, const ConvertArgs& args) {
  const Checks check("convert");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 1, Shape::maxRank);
  check.tensor("y", args.y, {DType::F32, DType::BF16}, args.x.shape);
  check.apart("y", args.y, "x", args.x);
  stream.device().kernels().convert(stream, args);
}

} // namespace millrace::ops

#include "ops/add.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void add(Stream& stream, const AddArgs& args) {
  const Checks check("add");
  check.tensor("x", args.x, {DType::F32}, 1, Shape::maxRank);
  check.tensor("y", args.y, {DType::F32}, args.x.shape);
  check.contiguous("x", args.x);
  check.contiguous("y", args.y);
  check.apart("y", args.y, "x", args.x);
  stream.device().kernels().add(stream, args);
}

} // namespace millrace::ops

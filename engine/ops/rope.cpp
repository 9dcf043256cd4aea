#include "ops/rope.h"

#include "device/device.h"
#include "ops/checks.h"

#include <fmt/format.h>

namespace millrace::ops {

void rope(Stream& stream, const RopeArgs& args) {
  const Checks check("rope");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 3, 3);
  check.tensor("cosSin", args.cosSin, {DType::F32}, 2, 2);
  const std::int64_t rotated = args.cosSin.shape[1];
  check.that(rotated % 2 == 0 && rotated <= args.x.shape[2],
             fmt::format("cosSin {} must rotate an even number of elements, at most the {} of a head",
                         args.cosSin.shape.toString(), args.x.shape[2]));
  check.tensor("positions", args.positions, {DType::I32}, {args.x.shape[0]});
  check.apart("x", args.x, "cosSin", args.cosSin);
  stream.device().kernels().rope(stream, args);
}

} // namespace millrace::ops

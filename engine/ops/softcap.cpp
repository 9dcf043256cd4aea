#include "ops/softcap.h"

#include "device/device.h"
#include "ops/checks.h"

#include <fmt/format.h>

namespace millrace::ops {

void softcap(Stream& stream, const SoftcapArgs& args) {
  const Checks check("softcap");
  check.tensor("x", args.x, {DType::F32}, 2, 2);
  check.that(args.softcap > 0, fmt::format("softcap is {}, expected more than 0", args.softcap));
  stream.device().kernels().softcap(stream, args);
}

} // namespace millrace::ops

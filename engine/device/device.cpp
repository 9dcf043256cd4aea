#include "device/device.h"

#include <fmt/format.h>

namespace millrace {

tl::unexpected<Error> refusal(Bytes bytes, MemorySpace space, const std::string& purpose, const MemoryUse& use) {
  const bool device = space == MemorySpace::Device;
  return failure(ErrorKind::DoesNotFit,
                 fmt::format("{} for {} do not fit in {} memory: {} of {} are in use; raise memory.{} by {}",
                             formatBytes(bytes), purpose, device ? "device" : "host", formatBytes(use.used),
                             formatBytes(use.limit), device ? "vram_limit" : "ram_limit",
                             formatBytes(bytes - (use.limit - use.used))));
}

} // namespace millrace

#include "device/device.h"

#include <charconv>
#include <fmt/format.h>

namespace millrace {

Result<std::unique_ptr<Device>> openDevice(const std::string& name, ThreadPool& pool, Bytes deviceLimit,
                                           Bytes hostLimit) {
  if (name == "cpu") return createCpuDevice(pool, deviceLimit, hostLimit);
  constexpr std::string_view prefix = "cuda:";
  int index = -1;
  const char* const end = name.data() + name.size();
  if (name.starts_with(prefix)) {
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, index);
    if (error == std::errc() && rest == end && index >= 0) return createCudaDevice(pool, index, deviceLimit, hostLimit);
  }
  return badInput(fmt::format("device is '{}', expected cpu or cuda:N", name), "device");
}

tl::unexpected<Error> refusal(Bytes bytes, MemorySpace space, const std::string& purpose, const MemoryUse& use) {
  const bool device = space == MemorySpace::Device;
  return failure(ErrorKind::DoesNotFit,
                 fmt::format("{} for {} do not fit in {} memory: {} of {} are in use; raise memory.{} by {}",
                             formatBytes(bytes), purpose, device ? "device" : "host", formatBytes(use.used),
                             formatBytes(use.limit), device ? "vram_limit" : "ram_limit",
                             formatBytes(bytes - (use.limit - use.used))));
}

} // namespace millrace

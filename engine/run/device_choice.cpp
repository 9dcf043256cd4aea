#include "run/device_choice.h"

#include "device/gpus.h"
#include "hardware/detect.h"
#include "hardware/numa.h"
#include "hardware/nvidia.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

/// Why a card cannot be computed on; empty: it can.
std::string obstacle(const GpuFacts& gpu) {
  constexpr ComputeCapability least{8, 0}; // Ampere
  if (gpu.index < 0) return "the driver does not offer it";
  if (gpu.memoryTotal <= 0) return "the driver does not tell of its memory";
  if (gpu.capability && *gpu.capability < least)
    return fmt::format("its compute capability is {}.{}, and training needs 8.0 (Ampere) or newer",
                       gpu.capability->major, gpu.capability->minor);
  return {};
}

std::string nameOf(const GpuFacts& gpu) {
  return fmt::format("{} (cuda:{})", gpu.name.empty() ? "GPU" : gpu.name, gpu.index);
}

DeviceChoice theCpu(std::string reason) {
  DeviceChoice choice;
  choice.reason = std::move(reason);
  return choice;
}

DeviceChoice theGpu(std::size_t index, std::string reason) {
  DeviceChoice choice;
  choice.gpu = static_cast<int>(index);
  choice.driverBytes = assumedContext;
  choice.reason = std::move(reason);
  return choice;
}

DeviceChoice chooseItself(const HardwareProfile& profile, int cudaRelease) {
  const std::vector<GpuFacts>& gpus = profile.nvidia.gpus;
  if (gpus.empty()) return theCpu("the CPU computes: this machine has no NVIDIA GPU");
  if (cudaRelease == 0) return theCpu("the CPU computes: this program was built without CUDA");
  std::optional<std::size_t> best;
  int usable = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!obstacle(gpus[i]).empty()) continue;
    ++usable;
    if (!best || gpus[i].memoryFree > gpus[*best].memoryFree) best = i;
  }
  if (!best) {
    if (const auto notices = gpuNotices(profile, true, cudaRelease); !notices.empty())
      return theCpu("the CPU computes: " + notices.front());
    return theCpu(fmt::format("the CPU computes: {} cannot be used: {}", nameOf(gpus.front()), obstacle(gpus.front())));
  }
  const GpuFacts& gpu = gpus[*best];
  return theGpu(*best, fmt::format("{} computes: it has {} free{}", nameOf(gpu), formatBytes(gpu.memoryFree),
                                   usable > 1 ? fmt::format(", the most of {} GPUs", usable) : ""));
}

} // namespace

Result<DeviceChoice> chooseDevice(const std::string& setting, const std::string& what, const HardwareProfile& profile,
                                  int cudaRelease) {
  if (setting == "auto") return chooseItself(profile, cudaRelease);
  if (setting == "cpu") return theCpu(fmt::format("the CPU computes: {} is cpu", what));
  const bool number = setting.starts_with("cuda:") && setting.size() > 5 && setting.size() < 10 &&
                      setting.find_first_not_of("0123456789", 5) == std::string::npos;
  if (!number) return badInput(fmt::format("{} is '{}', expected auto, cpu or cuda:N", what, setting));
  if (cudaRelease == 0)
    return badInput(fmt::format("{} is {}, but this program was built without CUDA: use auto or cpu, or build it where "
                                "the CUDA Toolkit (12.8 or newer) is installed",
                                what, setting));
  const std::vector<GpuFacts>& gpus = profile.nvidia.gpus;
  const auto named = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const GpuFacts& gpu) { return fmt::format("cuda:{}", gpu.index) == setting; });
  if (named == gpus.end()) {
    const auto notices = gpuNotices(profile, true, cudaRelease);
    const auto offered = std::count_if(gpus.begin(), gpus.end(), [](const GpuFacts& gpu) { return gpu.index >= 0; });
    return badInput(fmt::format("{} is {}, and this machine has {}; use auto or cpu", what, setting,
                                !notices.empty() ? notices.front()
                                : offered == 0   ? "no NVIDIA GPU that can be used"
                                                 : fmt::format("cuda:0 to cuda:{}", offered - 1)));
  }
  if (const std::string why = obstacle(*named); !why.empty())
    return badInput(fmt::format("{} is {}, and {} cannot be used: {}", what, setting, nameOf(*named), why));
  return theGpu(static_cast<std::size_t>(named - gpus.begin()),
                fmt::format("{} computes: {} is {}", nameOf(*named), what, setting));
}

Status checkDeviceSetting(const std::string& setting, const std::string& what) {
  const bool gpu = setting.starts_with("cuda:");
  MILLRACE_CHECK(chooseDevice(setting, what, gpu ? detectHardware() : HardwareProfile(), cudaRelease()));
  return {};
}

namespace {

/// Makes the context and books what it takes.
Status measureContext(DeviceChoice& choice, GpuFacts& gpu) {
  MILLRACE_TRY(const int index, cudaIndexOf(gpu.pciAddress));
  MILLRACE_TRY(const GpuMemory memory, gpuMemory(index));
  Bytes context = gpu.memoryFree - memory.free;
  // One that this process made before is in both figures, and then nothing is known of its size.
  constexpr Bytes leastContext = 100 * MiB;
  if (context < leastContext) context = assumedContext;
  choice.driverBytes = context + contextReserve;
  gpu.memoryFree = memory.free + context;
  choice.reason += fmt::format("; the driver takes {} of its memory", formatBytes(context));
  return {};
}

} // namespace

Result<DeviceChoice> readyDevice(const std::string& setting, const std::string& what, HardwareProfile& profile) {
  MILLRACE_TRY(DeviceChoice choice, chooseDevice(setting, what, profile, cudaRelease()));
  if (choice.gpu < 0) return choice;
  GpuFacts& gpu = profile.nvidia.gpus[static_cast<std::size_t>(choice.gpu)];
  const Status ready = measureContext(choice, gpu);
  if (ready) return choice;
  if (setting == "auto") return theCpu(fmt::format("the CPU computes: {}", ready.error().message));
  return tl::unexpected<Error>(ready.error());
}

MemoryLimits withoutDriver(MemoryLimits limits, Bytes driverBytes) {
  if (driverBytes == 0) return limits;
  MemoryLimit& device = limits.device;
  const Bytes most = std::max<Bytes>(0, device.free - driverBytes);
  device.bytes = device.set ? std::min(device.bytes, most) : std::max<Bytes>(0, device.bytes - driverBytes);
  return limits;
}

Result<std::unique_ptr<Device>> openChosen(const DeviceChoice& choice, const HardwareProfile& profile, ThreadPool& pool,
                                           Bytes deviceLimit, Bytes hostLimit) {
  if (choice.gpu < 0) return createCpuDevice(pool, deviceLimit, hostLimit);
  const GpuFacts& gpu = profile.nvidia.gpus[static_cast<std::size_t>(choice.gpu)];
  MILLRACE_TRY(const int index, cudaIndexOf(gpu.pciAddress));
  const bool severalNodes = profile.cpu.numaNodes.size() > 1 && gpu.numaNode;
  return createCudaDevice(pool, index, deviceLimit, hostLimit,
                          severalNodes ? preferNode(*gpu.numaNode) : HostMemoryAdvice());
}

} // namespace millrace

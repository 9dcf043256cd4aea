#include "hardware/nvidia.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

/// "NVIDIA H200 (0000:17:00.0)", or "3 NVIDIA cards (0000:17:00.0, ...)".
std::string describe(const std::vector<GpuFacts>& gpus) {
  if (gpus.size() == 1) {
    const GpuFacts& gpu = gpus.front();
    const std::string name = gpu.name.empty() ? fmt::format("NVIDIA card 10de:{}", gpu.deviceId) : gpu.name;
    return fmt::format("{} at PCI {}", name, gpu.pciAddress);
  }
  std::vector<std::string> addresses;
  for (const GpuFacts& gpu : gpus) addresses.push_back(gpu.pciAddress);
  return fmt::format("{} NVIDIA cards at PCI {}", gpus.size(), fmt::join(addresses, ", "));
}

std::string withoutPrefix(std::string_view text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  return std::string(text);
}

std::string cudaName(int release) {
  return fmt::format("{}.{}", release / 100, release % 100);
}

/// PCI Express generation of a speed such as "32.0 GT/s PCIe"; 0: none.
int linkGeneration(std::string_view speed) {
  constexpr std::array<std::string_view, 6> speeds = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
  const std::string_view number = speed.substr(0, speed.find(' '));
  for (std::size_t i = 0; i < speeds.size(); ++i)
    if (number == speeds[i] || std::string(number) + ".0" == speeds[i]) // older kernels: "8 GT/s"
      return static_cast<int>(i) + 1;
  return 0;
}

PciLink readLink(const SystemFiles& files, const std::string& folder, const std::string& which) {
  const auto width = files.number(folder + "/" + which + "_link_width").value_or(0);
  const int lanes = width > 0 && width <= 64 ? static_cast<int>(width) : 0; // 255: the slot does not say
  return {linkGeneration(files.text(folder + "/" + which + "_link_speed").value_or("")), lanes};
}

/// Whether a screen is plugged into one of the card's sockets: /sys/bus/pci/devices/<card>/drm/card0/card0-DP-1/status.
bool hasScreen(const SystemFiles& files, const std::string& folder) {
  for (const std::string& card : files.list(folder + "/drm"))
    for (const std::string& socket : files.list(folder + "/drm/" + card))
      if (files.text(folder + "/drm/" + card + "/" + socket + "/status") == "connected") return true;
  return false;
}

} // namespace

std::string nvidiaDriverVersion(std::string_view text) {
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build ..."
  for (const std::string_view line : splitLines(text)) {
    if (line.find("NVRM") == std::string_view::npos) continue;
    for (const std::string_view word : splitWords(line)) {
      const auto parts = splitAt(word, '.');
      const bool numbers =
          std::all_of(parts.begin(), parts.end(), [](std::string_view part) { return parseInteger(part).has_value(); });
      if (numbers && (parts.size() == 2 || parts.size() == 3) && parts[0].size() >= 2) return std::string(word);
    }
  }
  return "";
}

int minimumDriverBranch(int cudaRelease) {
  if (cudaRelease >= 1300) return 580;
  if (cudaRelease >= 1209) return 575;
  return 570;
}

NvidiaFacts readNvidiaFacts(const SystemFiles& files) {
  NvidiaFacts nvidia;
  const std::string bus = "/sys/bus/pci/devices/";
  for (const std::string& address : files.list(bus)) {
    const std::string folder = bus + address;
    if (files.text(folder + "/vendor") != "0x10de") continue;
    if (files.text(folder + "/class").value_or("").substr(0, 4) != "0x03") continue; // display controllers
    GpuFacts gpu;
    gpu.pciAddress = address;
    gpu.deviceId = withoutPrefix(files.text(folder + "/device").value_or(""), "0x");
    gpu.boundDriver = files.linkName(folder + "/driver").value_or("");
    const std::string information = files.text("/proc/driver/nvidia/gpus/" + address + "/information").value_or("");
    gpu.name = fmt::format("{}", fmt::join(wordsAfter(information, "Model"), " "));
    gpu.link = readLink(files, folder, "current");
    gpu.maximalLink = readLink(files, folder, "max");
    const auto node = files.number(folder + "/numa_node"); // -1: the firmware does not say
    if (node && *node >= 0 && *node < 65536) gpu.numaNode = static_cast<int>(*node);
    gpu.displayAttached = hasScreen(files, folder);
    nvidia.gpus.push_back(std::move(gpu));
  }
  nvidia.driverVersion = nvidiaDriverVersion(files.text("/proc/driver/nvidia/version").value_or(""));
  nvidia.deviceNodes = files.exists("/dev/nvidiactl");
  return nvidia;
}

std::vector<std::string> gpuNotices(const HardwareProfile& profile, bool builtWithCuda, int cudaRelease) {
  const NvidiaFacts& nvidia = profile.nvidia;
  std::vector<std::string> notices;
  std::vector<GpuFacts> lentOut, own;
  for (const GpuFacts& gpu : nvidia.gpus) (gpu.boundDriver == "vfio-pci" ? lentOut : own).push_back(gpu);
  if (!lentOut.empty())
    notices.push_back(fmt::format("{} is not used: it is reserved for virtual machines (driver vfio-pci). Fix: bind it "
                                  "to the nvidia driver to use it here.",
                                  describe(lentOut)));
  if (own.empty()) return notices;

  const int branch = minimumDriverBranch(cudaRelease);
  const auto installed = parseInteger(splitAt(nvidia.driverVersion, '.')[0]);
  if (nvidia.driverVersion.empty()) {
    const bool nouveau = own.front().boundDriver == "nouveau";
    notices.push_back(fmt::format("{} is not used: the NVIDIA driver is not loaded{}. Fix: install NVIDIA's driver {} "
                                  "or newer and restart the machine.",
                                  describe(own), nouveau ? " (the card is driven by nouveau)" : "", branch));
  } else if (installed && *installed < branch) {
    notices.push_back(fmt::format("{} is not used: driver {} is too old, CUDA {} needs {} or newer. Fix: install "
                                  "NVIDIA's driver {} or newer and restart the machine.",
                                  describe(own), nvidia.driverVersion, cudaName(cudaRelease), branch, branch));
  } else if (!builtWithCuda) {
    notices.push_back(fmt::format("{} is not used: this program was built without CUDA. Fix: build it where the CUDA "
                                  "toolkit 12.8 or newer is installed.",
                                  describe(own)));
  } else if (!nvidia.deviceNodes) {
    notices.push_back(fmt::format("{} is not used: /dev/nvidiactl is missing, so programs here have no access to it. "
                                  "Fix: run nvidia-modprobe as root, or start the container with its GPUs.",
                                  describe(own)));
  }
  for (const GpuFacts& gpu : own)
    if (gpu.capability && *gpu.capability < ComputeCapability{8, 0})
      notices.push_back(
          fmt::format("{} is not used: its compute capability is {}.{}, and training needs 8.0 (Ampere) or "
                      "newer.",
                      describe({gpu}), gpu.capability->major, gpu.capability->minor));
  return notices;
}

} // namespace millrace

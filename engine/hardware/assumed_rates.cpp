// Rates that nobody measured yet, so that a plan can say something, and say that it is assumed.
#include "engine/machines.h"
#include "hardware/machine_library.h"
#include "hardware/profile_json.h"
#include "hardware/rate_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace millrace {

namespace {

// Shares of what a PCI Express link moves on paper that pinned copies reach, and of twice that both ways at once.
constexpr double linkShare = 0.85;
constexpr double bothShare = 1.75;

// Memory traffic of common machines: a core's, a desktop's two channels', a server package's.
constexpr double coreTraffic = 10e9;
constexpr double desktopTraffic = 45e9;
constexpr double serverTraffic = 130e9;
constexpr Bytes desktopMemory = 200 * GiB;

void assume(Rate& rate, double perSecond, const std::string& source) {
  if (rate.known() || perSecond <= 0) return;
  rate = {perSecond, RateOrigin::Assumed, source, ""};
}

std::set<std::string> wordsOf(std::string_view name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

struct KnownGpu {
  std::string machine;
  GpuFacts gpu;
};

/// The library's card of that name: "NVIDIA GeForce RTX 4090" has the words of rtx-4090. Not its namesakes in laptops,
/// nor a part of one.
std::optional<KnownGpu> knownGpu(const GpuFacts& gpu) {
  const std::set<std::string> words = wordsOf(gpu.name);
  if (words.contains("laptop") || words.contains("mobile") || words.contains("mig")) return std::nullopt;
  for (const ShippedMachine& machine : shippedMachines()) {
    if (machine.name.starts_with("2x-")) continue;
    const std::set<std::string> own = wordsOf(machine.name);
    if (!std::includes(words.begin(), words.end(), own.begin(), own.end())) continue;
    const auto json = parseJson(machine.text, std::string(machine.name));
    const auto profile = json ? profileFromJson(*json, std::string(machine.name)) : tl::unexpected(json.error());
    if (profile && !profile->nvidia.gpus.empty()) return KnownGpu{std::string(machine.name), profile->nvidia.gpus[0]};
  }
  return std::nullopt;
}

/// Bytes a second each way; 0: the link is not known.
double linkRate(const PciLink& link) {
  constexpr double perLane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
  if (link.generation <= 0 || link.width <= 0) return 0;
  const auto generation = std::min<std::size_t>(static_cast<std::size_t>(link.generation), std::size(perLane) - 1);
  return perLane[generation] * link.width * linkShare;
}

void assumeGpu(GpuFacts& gpu) {
  const double link = linkRate(gpu.maximalLink);
  const auto known = knownGpu(gpu);
  if (known) {
    const DeviceRates& rates = known->gpu.rates;
    // A card on a slower link than its machine of the library; but one behind NVLink-C2C does not copy over its link.
    const double paper = linkRate(known->gpu.maximalLink);
    const double slower = link > 0 && paper > 0 ? std::min(link / paper, 1.0) : 1.0;
    // Clocks fall about as the square root of the power that a card is granted.
    const double granted = gpu.powerLimit > 0 && known->gpu.powerLimit > 0
                               ? std::min(std::sqrt(gpu.powerLimit / known->gpu.powerLimit), 1.0)
                               : 1.0;
    assume(gpu.rates.copyIn, rates.copyIn.perSecond * slower, known->machine);
    assume(gpu.rates.copyOut, rates.copyOut.perSecond * slower, known->machine);
    assume(gpu.rates.copyBoth, rates.copyBoth.perSecond * slower, known->machine);
    assume(gpu.rates.gemmFp32, rates.gemmFp32.perSecond * granted, known->machine);
    assume(gpu.rates.gemmTf32, rates.gemmTf32.perSecond * granted, known->machine);
    assume(gpu.rates.gemmBf16, rates.gemmBf16.perSecond * granted, known->machine);
    assume(gpu.rates.memory, rates.memory.perSecond, known->machine);
    return;
  }
  const std::string source = fmt::format("PCIe {} x{}", gpu.maximalLink.generation, gpu.maximalLink.width);
  assume(gpu.rates.copyIn, link, source);
  assume(gpu.rates.copyOut, link, source);
  assume(gpu.rates.copyBoth, link * bothShare, source);
}

void assumeHost(HardwareProfile& profile) {
  const int cores = std::max(profile.cpu.usableCores, 1);
  const double most = profile.memory.total > desktopMemory ? serverTraffic : desktopTraffic;
  const std::string source = fmt::format("{} cores, {} of memory", cores, formatBytes(profile.memory.total));
  HostRates& rates = profile.hostRates;
  assume(rates.memory, std::min(coreTraffic * cores, most * std::max(profile.cpu.packages, 1)), source);
  assume(rates.adamW, rates.memory.perSecond * 0.95 / adamWTraffic, source);
  assume(rates.adamWBesideCopies, rates.adamW.perSecond * 0.7, source);
}

/// The CPU as the device that computes: copies are copies within RAM, products are limited by the vector units.
void assumeCpu(HardwareProfile& profile) {
  const InstructionSets& sets = profile.cpu.instructionSets;
  const int cores = std::max(profile.cpu.usableCores, 1);
  const char* name = sets.amxBf16 ? "AMX" : sets.avx512 ? "AVX-512" : sets.avx2 ? "AVX2" : "no vector units";
  const std::string source = fmt::format("{} cores, {}", cores, name);
  const double fp32 = (sets.avx512 ? 70e9 : sets.avx2 ? 40e9 : 8e9) * cores;
  DeviceRates& rates = profile.cpuRates;
  assume(rates.gemmFp32, fp32, source);
  assume(rates.gemmTf32, fp32, source);
  assume(rates.gemmBf16, sets.amxBf16 ? 400e9 * cores : fp32 * 0.8, source);
  const double traffic = profile.hostRates.memory.perSecond;
  assume(rates.memory, traffic, source);
  const double copy = std::min(traffic / 2, coreTraffic / 2); // one thread copies, and each byte is read and written
  assume(rates.copyIn, copy, source);
  assume(rates.copyOut, copy, source);
  assume(rates.copyBoth, std::min(2 * copy, traffic / 2), source);
}

void assumeDisk(DiskFacts& disk) {
  struct Pair {
    double read, write;
  };
  const Pair pair = [&]() -> Pair {
    switch (disk.kind) {
    case DiskKind::Nvme:
      return {3e9, 2e9};
    case DiskKind::Ssd:
      return {0.5e9, 0.45e9};
    case DiskKind::Hdd:
      return {0.15e9, 0.14e9};
    case DiskKind::Network:
      return {0.1e9, 0.1e9};
    case DiskKind::Memory:
      return {5e9, 4e9};
    case DiskKind::Unknown:
      break;
    }
    return {0.5e9, 0.4e9};
  }();
  const std::string source =
      disk.kind == DiskKind::Unknown ? "a disk of unknown kind" : std::string(toString(disk.kind));
  assume(disk.rates.read, pair.read, source);
  assume(disk.rates.write, pair.write, source);
}

} // namespace

HardwareProfile withAssumedRates(HardwareProfile profile) {
  for (GpuFacts& gpu : profile.nvidia.gpus) assumeGpu(gpu);
  assumeHost(profile);
  assumeCpu(profile);
  for (DiskFacts& disk : profile.disks) assumeDisk(disk);
  return profile;
}

} // namespace millrace

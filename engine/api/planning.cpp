#include "api/planning.h"

#include "device/gpus.h"
#include "hardware/rate_text.h"
#include "model/blocks.h"
#include "run/device_choice.h"
#include "run/plan_rates.h"
#include "run/state_drives.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <unistd.h>

namespace millrace {

namespace {

/// Of this program on a machine that is only described.
constexpr Bytes assumedProgram = 96 * MiB;
/// Threads' stacks and arenas, kernels that are made on demand and what libraries set up once training begins: measured
/// on machines of 2 and 16 threads (tests/bench/plan_table.py). Matrix products have buffers for each thread, larger
/// ones for wider models, and bf16 has more of all.
Bytes trainingProgram(const Project& project, const ModelSpec& spec, const HardwareProfile& profile) {
  const bool bf16 = project.training.precision == Precision::Bf16;
  const std::int64_t threads = computeThreads(project, profile);
  const double width = std::min(1.0, static_cast<double>(spec.hidden) / 512);
  const double eachThread = bf16 ? 1.6 + 0.7 * width : 1.2 + 0.6 * width;
  const double mebibytes = (bf16 ? 22.0 : 20.5) + static_cast<double>(threads) * eachThread;
  return static_cast<Bytes>(mebibytes * static_cast<double>(MiB));
}

/// Resident bytes of this process.
Bytes residentBytes() {
  std::ifstream statm("/proc/self/statm");
  Bytes pages = 0, resident = 0;
  if (!(statm >> pages >> resident)) return assumedProgram;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Larger drives of a kind last longer in proportion.
void resize(DiskFacts& disk, Bytes total, Bytes free) {
  if (disk.ratedEndurance > 0 && disk.total > 0)
    disk.ratedEndurance = static_cast<Bytes>(static_cast<double>(disk.ratedEndurance) * static_cast<double>(total) /
                                             static_cast<double>(disk.total));
  disk.total = total;
  disk.free = free;
}

/// The machine with what the user says that it has, all of it free.
HardwareProfile describedAs(HardwareProfile profile, const TierOverrides& has) {
  if (has.vram)
    for (GpuFacts& gpu : profile.nvidia.gpus) {
      if (gpu.memoryTotal == 0) continue; // the driver does not offer it
      gpu.memoryTotal = gpu.memoryFree = *has.vram;
      gpu.processes.clear();
    }
  if (has.ram) {
    MemoryFacts& memory = profile.memory;
    memory.total = memory.available = memory.usable = *has.ram;
    memory.groupLimit.reset();
    memory.groupFree.reset();
  }
  if (has.disk)
    for (DiskFacts& disk : profile.disks) resize(disk, *has.disk, *has.disk);
  return profile;
}

/// The GPUs to plan for, as indices of the profile's; none: the CPU computes. Of this machine, unless somebody asks for
/// GPUs, what a run would compute on; else those that have memory, in their order, the one that training.device names
/// first.
Result<std::vector<std::size_t>> chosenGpus(const Project& project, const std::string& source,
                                            const HardwareProfile& profile, int gpus) {
  const std::string& device = project.training.device;
  const bool here = profile.name.empty();
  const std::string machine = here ? "this machine" : profile.name;
  if (here && gpus == 0) { // what a run would take
    MILLRACE_TRY(const DeviceChoice choice, chooseDevice(device, source + ": training.device", profile, cudaRelease()));
    if (choice.gpu < 0) return std::vector<std::size_t>();
    return std::vector<std::size_t>{static_cast<std::size_t>(choice.gpu)};
  }
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < profile.nvidia.gpus.size(); ++i)
    if (profile.nvidia.gpus[i].memoryTotal > 0) usable.push_back(i);
  if (device == "cpu") {
    if (gpus == 0) return std::vector<std::size_t>();
    return badInput(fmt::format("--gpus {}: training.device is cpu, which computes alone: set it to auto, or leave "
                                "--gpus away",
                                gpus));
  }
  if (gpus > static_cast<int>(usable.size()))
    return badInput(fmt::format("--gpus {}: {} has {} that could be planned for", gpus, machine, usable.size()));
  if (device.starts_with("cuda:")) {
    const auto named = std::find_if(usable.begin(), usable.end(), [&](std::size_t i) {
      return fmt::format("cuda:{}", profile.nvidia.gpus[i].index) == device;
    });
    if (named == usable.end())
      return badInput(fmt::format("training.device is {}: {} has {} GPU{} that could be planned for", device, machine,
                                  usable.size(), usable.size() == 1 ? "" : "s"),
                      "training.device");
    std::rotate(usable.begin(), named, named + 1);
  }
  usable.resize(std::min(usable.size(), static_cast<std::size_t>(std::max(1, gpus))));
  return usable;
}

void takeLesser(DeviceRates& rates, const DeviceRates& others) {
  std::vector<const Rate*> other;
  visitDeviceRates(others, [&](const Rate& rate, auto&&...) { other.push_back(&rate); });
  auto next = other.begin();
  visitDeviceRates(rates, [&](Rate& rate, auto&&...) {
    if ((*next)->perSecond < rate.perSecond) rate = **next;
    ++next;
  });
}

/// What each of several GPUs counts as: they do equal parts of a step and wait for each other, so that the least of
/// what they have is what all can use.
GpuFacts leastOf(const std::vector<GpuFacts>& gpus, const std::vector<std::size_t>& chosen) {
  GpuFacts least = gpus[chosen.front()];
  double power = 0;
  bool powerKnown = true;
  for (const std::size_t i : chosen) {
    const GpuFacts& gpu = gpus[i];
    if (gpu.memoryFree < least.memoryFree) {
      least.memoryTotal = gpu.memoryTotal;
      least.memoryFree = gpu.memoryFree;
      least.processes = gpu.processes;
    }
    if (least.name.find(gpu.name) == std::string::npos) least.name += " / " + gpu.name;
    least.displayAttached = least.displayAttached || gpu.displayAttached;
    takeLesser(least.rates, gpu.rates);
    power += gpu.powerLimit;
    powerKnown = powerKnown && gpu.powerLimit > 0;
  }
  least.powerLimit = powerKnown ? power / static_cast<double>(chosen.size()) : 0;
  return least;
}

} // namespace

bool computesOnGpu(const Project& project, const HardwareProfile& profile, int gpus) {
  const auto chosen = chosenGpus(project, "", profile, gpus);
  return chosen && !chosen->empty();
}

Result<Planning> Planning::create(FileSystem& files, const Project& project, const std::string& source,
                                  const HardwareProfile& profile, const PlanOptions& options) {
  Planning planning;
  PlanTarget& target = planning.m_target;
  const bool described = !profile.name.empty();
  MILLRACE_TRY(const std::vector<std::size_t> gpus, chosenGpus(project, source, profile, options.gpus));
  target.gpu = gpus.empty() ? -1 : static_cast<int>(gpus.front());
  target.gpus = std::max(1, options.gpus);
  const NvmeConfig& nvme = project.memory.nvme;
  target.nvme = options.nvme || !nvme.directories.empty();
  if (nvme.limit > 0) target.budgets.disk = nvme.limit;

  HardwareProfile& machine = planning.m_profile;
  machine = describedAs(profile, options.budgets);
  if (described && machine.memory.usable <= 0)
    return badInput(fmt::format("how much RAM {} has is not known: give --ram, or memory.total in the machine's file",
                                machine.name));
  if (target.nvme && machine.disks.empty()) { // a disk of which nothing is known but how much of it may be used
    DiskFacts disk;
    disk.folder = "nvme";
    disk.kind = DiskKind::Nvme;
    disk.free = disk.total = options.budgets.disk.value_or(nvme.limit);
    machine.disks.push_back(disk);
  }
  machine = withRates(files, std::move(machine), project, target.gpu, &planning.m_ratesNotice);
  if (!gpus.empty()) machine.nvidia.gpus[gpus.front()] = leastOf(machine.nvidia.gpus, gpus);
  planning.m_checkpointDisk = millrace::checkpointDisk(machine, nvme);
  keepStateDrives(machine, nvme);
  planning.m_usableNow = profile.memory.usable;
  for (const DataSourceSpec& data : project.data.sources)
    for (const Path& path : data.paths)
      if (const auto file = files.open(path, OpenMode::Read))
        if (const auto size = (*file)->size()) planning.m_dataBytes += *size;
  if (!described) planning.m_residentBytes = residentBytes();
  return planning;
}

Bytes Planning::driverBytes() const {
  return m_target.gpu < 0 ? 0 : assumedContext;
}

Bytes Planning::programBytes(const Project& project, const ModelSpec& spec) const {
  if (!m_residentBytes) return assumedProgram;
  // More pages of libraries come in as their code is first run: those of CUDA are large, and how many of their
  // neighbours the kernel maps with each differs from run to run (by 13 MiB over the runs of
  // tests/bench/plan_table.py).
  return *m_residentBytes + *m_residentBytes / 20 + trainingProgram(project, spec, m_profile);
}

const DiskFacts* Planning::checkpointDisk() const {
  return m_checkpointDisk ? &*m_checkpointDisk : nullptr;
}

std::vector<const DiskFacts*> Planning::stateDrives() const {
  std::vector<const DiskFacts*> drives;
  std::set<std::string> counted; // two folders of one disk are one disk
  for (const DiskFacts& disk : m_profile.disks) {
    const std::string& which = disk.device.empty() ? disk.mountPoint : disk.device;
    if (which.empty() || counted.insert(which).second) drives.push_back(&disk);
  }
  return drives;
}

bool Planning::checkpointsShareTheDrive() const {
  return m_target.nvme && m_checkpointDisk && holdsCheckpoints(m_profile, *m_checkpointDisk);
}

std::string Planning::checkpointShortfall(const Project& project, const ModelSpec& spec, Bytes onDisk) const {
  if (!m_checkpointDisk || m_checkpointDisk->total == 0) return {};
  const Bytes needed = checkpointDiskBytes(project, parameterCount(spec));
  const Bytes free = m_checkpointDisk->free - (checkpointsShareTheDrive() ? onDisk : 0);
  if (needed <= free) return {};
  return fmt::format(
      "the disk of the checkpoints is too small: {} are free{} and {} are needed for those that are kept "
      "and the one that is being written; lower checkpoint.keep, or use another disk",
      formatBytes(std::max<Bytes>(0, free)), onDisk > 0 ? " beside the state" : "", formatBytes(needed));
}

MemoryLimits Planning::limitsOf(const Project& project, const ModelSpec& spec) const {
  MemoryLimits limits = memoryLimits(project, m_profile, m_target);
  if (checkpointsShareTheDrive())
    limits.disk = besideCheckpoints(std::move(limits.disk), checkpointDiskBytes(project, parameterCount(spec)));
  if (m_target.gpu >= 0) limits = withoutDriver(std::move(limits), driverBytes());
  if (!limits.host.set) limits.host.bytes = std::max<Bytes>(0, limits.host.bytes - programBytes(project, spec));
  return limits;
}

bool Planning::fits(const Project& project, const ModelSpec& spec) const {
  const MemoryLimits limits = limitsOf(project, spec);
  const auto least = leastMemoryOfRun(spec, planRequest(project, limits, m_profile, m_target), limits);
  return least && checkpointShortfall(project, spec, (*least)[MemoryTier::Disk]).empty();
}

Result<PlanOutcome> Planning::plan(const Project& project, const ModelSpec& spec) const {
  PlanOutcome outcome;
  outcome.limits = limitsOf(project, spec);
  const PlanRequest request = planRequest(project, outcome.limits, m_profile, m_target);
  Result<PlannedStep> found = planRun(spec, request, outcome.limits);
  if (!found) {
    if (found.error().kind != ErrorKind::DoesNotFit) return tl::unexpected(found.error());
    outcome.verdict = Verdict::DoesNotFit;
    std::string reason = found.error().message;
    outcome.step = predictPlan(spec, request, leanestPlan(spec, request));
    const bool device = outcome.step.memory.total(MemoryTier::Device) > outcome.limits.device.bytes;
    if (device && m_target.gpu < 0 && !outcome.limits.device.set)
      reason += "; on the CPU that is a share of RAM, of which the machine has too little";
    if (device && driverBytes() > 0)
      reason += fmt::format("; the GPU's driver takes {} more", formatBytes(driverBytes()));
    if (!device && !outcome.limits.host.set)
      reason += fmt::format("; the program itself takes {} more", formatBytes(programBytes(project, spec)));
    outcome.reasons = {std::move(reason)};
    // Where nothing is left for state beside them it is they that are in the way.
    if (std::string checkpoints = checkpointShortfall(project, spec, 0); !checkpoints.empty())
      outcome.reasons.insert(checkpointsShareTheDrive() ? outcome.reasons.begin() : outcome.reasons.end(),
                             std::move(checkpoints));
    return outcome;
  }
  outcome.step = std::move(*found);
  outcome.limits.device.bytes = outcome.step.memory.deviceLimit;
  outcome.limits.host.bytes = outcome.step.memory.hostLimit;
  if (std::string reason = checkpointShortfall(project, spec, outcome.step.memory.total(MemoryTier::Disk));
      !reason.empty()) {
    outcome.reasons = {std::move(reason)};
    outcome.verdict = Verdict::DoesNotFit;
    return outcome;
  }
  // What the planner takes beyond need is no sign: the question is whether less would do. A limit that was set is kept
  // to the byte, one that follows from what is free now may turn out smaller.
  const auto lessen = [](MemoryLimit& limit) {
    if (!limit.set || limit.bytes >= limit.free) limit.bytes = limit.bytes / 100 * 95;
  };
  const auto tooLittle = [&](const MemoryLimits& less) {
    return !leastMemoryOfRun(spec, planRequest(project, less, m_profile, m_target), less);
  };
  MemoryLimits less = outcome.limits;
  for (MemoryLimit* limit : {&less.device, &less.host, &less.disk}) lessen(*limit);
  if (m_target.gpu < 0) less.host.free = less.host.free / 100 * 95;
  if (!tooLittle(less)) return outcome;
  outcome.verdict = Verdict::Tight;
  const std::pair<MemoryLimit MemoryLimits::*, const char*> tiers[] = {
      {&MemoryLimits::device, "device memory"}, {&MemoryLimits::host, "host memory"}, {&MemoryLimits::disk, "disk"}};
  std::string which;
  for (const auto& [tier, name] : tiers) {
    MemoryLimits one = outcome.limits;
    lessen(one.*tier);
    if ((one.*tier).bytes != (outcome.limits.*tier).bytes && tooLittle(one))
      which += fmt::format("{}{} ({} of it may be taken)", which.empty() ? "" : " and ", name,
                           formatBytes((outcome.limits.*tier).bytes));
  }
  outcome.reasons = {fmt::format("it fits with less than 5% to spare of {}", which.empty() ? "memory" : which)};
  return outcome;
}

Planning Planning::withMore(Bytes ram, Bytes disk, bool nvme) const {
  Planning more = *this;
  MemoryFacts& memory = more.m_profile.memory;
  memory.total += ram;
  memory.available += ram;
  memory.usable += ram;
  if (memory.groupLimit) *memory.groupLimit += ram;
  if (memory.groupFree) *memory.groupFree += ram;
  const auto enlarge = [&](DiskFacts& facts) { resize(facts, facts.total + disk, facts.free + disk); };
  for (DiskFacts& facts : more.m_profile.disks) enlarge(facts);
  if (more.m_checkpointDisk) enlarge(*more.m_checkpointDisk);
  if (more.m_target.budgets.disk) *more.m_target.budgets.disk += disk;
  more.m_target.nvme = more.m_target.nvme || nvme;
  return more;
}

} // namespace millrace

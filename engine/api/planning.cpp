#include "api/planning.h"

#include "engine/machines.h"
#include "model/blocks.h"
#include "run/plan_rates.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace millrace {

namespace {

/// Of a CUDA context, until one is measured: the driver, cuBLAS and our kernels.
constexpr Bytes assumedContext = 600 * MiB;
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

/// The machine with what the user says that it has.
HardwareProfile describedAs(HardwareProfile profile, const TierOverrides& has) {
  if (has.vram)
    for (GpuFacts& gpu : profile.nvidia.gpus) gpu.memoryTotal = gpu.memoryFree = *has.vram;
  if (has.ram) profile.memory.total = profile.memory.available = profile.memory.usable = *has.ram;
  if (has.disk)
    for (DiskFacts& disk : profile.disks) {
      if (disk.ratedEndurance > 0 && disk.total > 0) // larger drives of a kind last longer in proportion
        disk.ratedEndurance = static_cast<Bytes>(static_cast<double>(disk.ratedEndurance) *
                                                 static_cast<double>(*has.disk) / static_cast<double>(disk.total));
      disk.total = disk.free = *has.disk;
    }
  return profile;
}

/// The GPU to plan for: the first that has memory; -1: the CPU computes.
int chosenGpu(const Project& project, const HardwareProfile& profile, int gpus) {
  const bool here = profile.name.empty();
  // This build computes on the CPU; a GPU of this machine is planned for when somebody asks for it.
  if (here && gpus == 0) return -1;
  if (project.training.device == "cpu") return -1;
  for (std::size_t i = 0; i < profile.nvidia.gpus.size(); ++i)
    if (profile.nvidia.gpus[i].memoryTotal > 0) return static_cast<int>(i);
  return -1;
}

bool holds(const std::vector<Path>& directories, const std::string& folder) {
  return std::find(directories.begin(), directories.end(), Path(folder)) != directories.end();
}

} // namespace

Result<Planning> Planning::create(FileSystem& files, const Project& project, const HardwareProfile& profile,
                                  const PlanOptions& options) {
  Planning planning;
  PlanTarget& target = planning.m_target;
  const bool described = !profile.name.empty();
  if (!described) target.budgets = options.budgets;
  target.gpu = chosenGpu(project, profile, options.gpus);
  const auto usable = std::count_if(profile.nvidia.gpus.begin(), profile.nvidia.gpus.end(),
                                    [](const GpuFacts& gpu) { return gpu.memoryTotal > 0; });
  if (options.gpus > usable)
    return badInput(fmt::format("--gpus {}: {} has {} that could be planned for", options.gpus,
                                profile.name.empty() ? "this machine" : profile.name, usable));
  target.gpus = std::max(1, options.gpus);
  const std::vector<Path>& directories = project.memory.nvme.directories;
  target.nvme = options.nvme || !directories.empty();
  if (project.memory.nvme.limit > 0 && !target.budgets.disk) target.budgets.disk = project.memory.nvme.limit;

  planning.m_profile = withRates(files, described ? describedAs(profile, options.budgets) : profile, project);
  for (const DiskFacts& disk : planning.m_profile.disks)
    if (!planning.m_checkpointDisk || holds(directories, planning.m_checkpointDisk->folder))
      planning.m_checkpointDisk = disk;
  std::vector<DiskFacts>& disks = planning.m_profile.disks;
  const bool named =
      std::any_of(disks.begin(), disks.end(), [&](const DiskFacts& disk) { return holds(directories, disk.folder); });
  if (named) std::erase_if(disks, [&](const DiskFacts& disk) { return !holds(directories, disk.folder); });
  if (target.nvme && disks.empty()) { // a disk of which nothing is known but how much of it may be used
    DiskFacts disk;
    disk.folder = "nvme";
    disk.kind = DiskKind::Nvme;
    disk.free = disk.total = options.budgets.disk.value_or(0);
    disks.push_back(disk);
    planning.m_profile = withAssumedRates(std::move(planning.m_profile));
  }
  for (const DataSourceSpec& source : project.data.sources)
    for (const Path& path : source.paths)
      if (const auto file = files.open(path, OpenMode::Read))
        if (const auto size = (*file)->size()) planning.m_dataBytes += *size;
  if (!described) planning.m_residentBytes = residentBytes();
  return planning;
}

Bytes Planning::driverBytes() const {
  return m_target.gpu < 0 ? 0 : assumedContext;
}

Bytes Planning::programBytes(const Project& project, const ModelSpec& spec) const {
  return m_residentBytes ? *m_residentBytes + trainingProgram(project, spec, m_profile) : assumedProgram;
}

const DiskFacts* Planning::checkpointDisk() const {
  return m_checkpointDisk ? &*m_checkpointDisk : nullptr;
}

bool Planning::checkpointsShareTheDrive() const {
  if (!m_target.nvme || !m_checkpointDisk) return false;
  return std::any_of(m_profile.disks.begin(), m_profile.disks.end(), [&](const DiskFacts& disk) {
    return disk.folder == m_checkpointDisk->folder ||
           (!disk.mountPoint.empty() && disk.mountPoint == m_checkpointDisk->mountPoint);
  });
}

Bytes checkpointDiskBytes(const Project& project, std::int64_t parameters) {
  const std::int64_t kept = std::max<std::int64_t>(1, project.checkpoint.keep) + (project.checkpoint.keepBest ? 1 : 0);
  return (kept + 1) * 12 * parameters;
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
  if (checkpointsShareTheDrive()) {
    const Bytes checkpoints = checkpointDiskBytes(project, parameterCount(spec));
    limits.disk.bytes = std::max<Bytes>(0, limits.disk.bytes - checkpoints);
    limits.disk.origin += fmt::format(", less {} for checkpoints", formatBytes(checkpoints));
  }
  limits.device.bytes = std::max<Bytes>(0, limits.device.bytes - driverBytes());
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
    outcome.reason = found.error().message;
    outcome.step = predictPlan(spec, request, smallestPlan(spec, request));
    return outcome;
  }
  outcome.step = std::move(*found);
  outcome.limits.device.bytes = outcome.step.memory.deviceLimit;
  outcome.limits.host.bytes = outcome.step.memory.hostLimit;
  outcome.reason = checkpointShortfall(project, spec, outcome.step.memory.total(MemoryTier::Disk));
  if (!outcome.reason.empty()) {
    outcome.verdict = Verdict::DoesNotFit;
    return outcome;
  }
  // What the planner takes beyond need is no sign: the question is whether less would do. A limit that was set is kept
  // to the byte, one that follows from what is free now may turn out smaller.
  MemoryLimits less = outcome.limits;
  for (MemoryLimit* limit : {&less.device, &less.host, &less.disk})
    if (!limit->set || limit->bytes >= limit->free) limit->bytes = limit->bytes / 100 * 95;
  if (m_target.gpu < 0) less.host.free = less.host.free / 100 * 95;
  const auto spare = leastMemoryOfRun(spec, planRequest(project, less, m_profile, m_target), less);
  if (spare) return outcome;
  outcome.verdict = Verdict::Tight;
  outcome.reason = "it fits with less than 5% to spare: " + spare.error().message;
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
  if (more.m_target.budgets.ram) *more.m_target.budgets.ram += ram;
  const auto enlarge = [&](DiskFacts& facts) {
    facts.total += disk;
    facts.free += disk;
  };
  for (DiskFacts& facts : more.m_profile.disks) enlarge(facts);
  if (more.m_checkpointDisk) enlarge(*more.m_checkpointDisk);
  if (more.m_target.budgets.disk) *more.m_target.budgets.disk += disk;
  more.m_target.nvme = more.m_target.nvme || nvme;
  return more;
}

} // namespace millrace

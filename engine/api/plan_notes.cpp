#include "api/plan_notes.h"

#include "api/plan_outlook.h"
#include "device/gpus.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

using Notes = std::vector<std::string>;

/// What this version cannot carry out.
void addPlanOnly(const Planning& planning, Notes& notes) {
  if (planning.target().gpu >= 0 && cudaRelease() == 0)
    notes.push_back("plan only: this program was built without CUDA and trains on the CPU; the GPU's times and memory "
                    "are what the plan says of it");
  const auto gpus = std::count_if(planning.profile().nvidia.gpus.begin(), planning.profile().nvidia.gpus.end(),
                                  [](const GpuFacts& gpu) { return gpu.memoryTotal > 0; });
  if (planning.target().gpu >= 0 && planning.target().gpus == 1 && gpus > 1)
    notes.push_back(fmt::format("one of {} GPUs is planned with: --gpus {} plans for all", gpus, gpus));
  if (planning.target().gpus > 1) notes.push_back("plan only: training on several GPUs is not part of this version");
}

void addRates(const Planning& planning, const StepRates& rates, bool rehearsed, Notes& notes) {
  const bool here = planning.profile().name.empty();
  if (here && !planning.ratesNotice().empty() && !rehearsed)
    notes.push_back((rates.measured ? "" : "the rates are assumed: ") + planning.ratesNotice());
  else if (rates.assumed && !rehearsed)
    notes.push_back("the rates are assumed, of data sheets and tables: the machine itself may be faster or slower");
}

/// Options that change nothing here.
void addWithoutEffect(const Planning& planning, const PlanOptions& options, const PlannedRun& run, Notes& notes) {
  if (options.budgets.vram && planning.target().gpu < 0)
    notes.push_back("--vram changes nothing: the CPU computes, whose device memory is a share of RAM");
  if (options.pricePerKilowattHour && powerOf(planning) <= 0)
    notes.push_back("--kwh-price changes nothing: how much power the machine draws is not known; a machine file can "
                    "tell it (host_power, and power_limit of GPUs)");
  if (options.endurance > 0 && run.writtenPerDay <= 0)
    notes.push_back("--nvme-tbw changes nothing: no state and no checkpoint is written to a drive");
}

/// Folders of the project that the machine has no drive for.
void addDirectories(const Planning& planning, const Project& project, Notes& notes) {
  const std::vector<Path>& directories = project.memory.nvme.directories;
  const std::vector<DiskFacts>& disks = planning.profile().disks;
  if (directories.size() <= disks.size()) return;
  std::vector<std::string> names;
  for (const DiskFacts& disk : disks) names.push_back(disk.folder);
  notes.push_back(fmt::format("memory.nvme.directories names {} folders, and the machine has {} of the drives: only {} "
                              "{} planned with",
                              directories.size(), disks.size(), fmt::join(names, ", "),
                              disks.size() == 1 ? "is" : "are"));
}

} // namespace

std::vector<std::string> notesOf(const Planning& planning, const Project& project, const PlanOptions& options,
                                 const PlannedStep& step, const StepRates& rates, const PlanReport& report) {
  Notes notes;
  const HardwareProfile& profile = planning.profile();
  addPlanOnly(planning, notes);
  addRates(planning, rates, report.time.rehearsed, notes);
  if (report.run.tokens <= 0)
    notes.push_back("how long the run takes cannot be told of training.epochs, since no data is read: give --tokens N");
  addWithoutEffect(planning, options, report.run, notes);
  addDirectories(planning, project, notes);
  if (const auto lock = profile.memory.lockLimit; planning.target().gpu < 0 && lock &&
                                                  step.memory.total(MemoryTier::Disk) > 0 &&
                                                  *lock < step.memory.total(MemoryTier::Host, MemoryCategory::Staging))
    notes.push_back(fmt::format("the limit of locked memory (ulimit -l) is {}: buffers of the disk stay unlocked",
                                formatBytes(*lock)));
  if (profile.wsl && planning.target().gpu >= 0)
    notes.push_back(
        "under Windows pinned memory is capped, whatever the limits say: copies may be slower than planned");
  return notes;
}

} // namespace millrace

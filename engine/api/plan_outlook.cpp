#include "api/plan_outlook.h"

#include <algorithm>

namespace millrace {

namespace {

constexpr double day = 86400;
/// Where nobody entered the drive's rating: what consumer drives of this kind are rated at, drive writes in all.
constexpr double assumedDriveWrites = 600;
/// Writing when no rate of the disk is known.
constexpr double assumedDiskWrite = 1e9;

/// Tokens to train on: what was asked for, else what the project's length says; 0: epochs, whose data nobody has read.
double tokensOf(const Project& project, const PlanOptions& options, double tokensPerSecond) {
  if (options.tokens > 0) return options.tokens;
  const TrainingLength& length = project.training.length;
  switch (length.unit) {
  case LengthUnit::Steps:
    return length.amount * static_cast<double>(project.training.tokensPerStep());
  case LengthUnit::Tokens:
    return length.amount;
  case LengthUnit::Hours:
    return length.amount * 3600 * tokensPerSecond;
  case LengthUnit::Epochs:
    return 0;
  }
  return 0;
}

/// Watts under load: the GPUs that work, and the machine around them. 0: not known.
double powerOf(const Planning& planning) {
  const HardwareProfile& profile = planning.profile();
  double watts = profile.hostPower;
  if (planning.target().gpu < 0) return watts;
  const double gpu = profile.nvidia.gpus[static_cast<std::size_t>(planning.target().gpu)].powerLimit;
  return gpu > 0 ? watts + gpu * planning.target().gpus : 0;
}

/// Of all drives that state lives on.
void wear(const Planning& planning, const PlanOptions& options, PlannedRun& run) {
  if (run.writtenPerDay <= 0) return;
  run.endurance = options.endurance;
  for (const DiskFacts& disk : planning.profile().disks) {
    if (options.endurance > 0) break;
    const bool known = disk.ratedEndurance > 0;
    const double assumed = assumedDriveWrites * static_cast<double>(disk.total);
    run.endurance += known ? disk.ratedEndurance : static_cast<Bytes>(std::min(assumed, 9e18));
    run.enduranceAssumed = run.enduranceAssumed || !known;
  }
  run.driveYears = static_cast<double>(run.endurance) / run.writtenPerDay / 365.25;
}

} // namespace

double writtenPerDay(const PlannedStep& step) {
  return step.work.diskWrites() / step.time.seconds * day;
}

PlannedRun outlookOf(const Planning& planning, const Project& project, const PlanReport& report,
                     const PlannedStep& step, const PlanOptions& options) {
  PlannedRun run;
  const double stepSeconds = report.time.stepSeconds;
  const CheckpointConfig& checkpoint = project.checkpoint;
  run.checkpointBytes = report.stateBytes;
  const DiskFacts* disk = planning.checkpointDisk();
  const double rate = disk && disk->rates.write.known() ? disk->rates.write.perSecond : assumedDiskWrite;
  run.checkpointSeconds = static_cast<double>(run.checkpointBytes) / rate;
  run.checkpointDisk = checkpointDiskBytes(project, report.parameters);
  if (disk && disk->total > 0) run.checkpointFree = disk->free;
  // Training stands still while one is written.
  double between = 0; // seconds of training
  if (checkpoint.everyMinutes > 0) between = checkpoint.everyMinutes * 60;
  if (checkpoint.every > 0) {
    const double steps = static_cast<double>(checkpoint.every) * stepSeconds;
    between = between > 0 ? std::min(between, steps) : steps;
  }
  const double slower = between > 0 ? 1 + run.checkpointSeconds / between : 1;

  run.tokens = tokensOf(project, options, report.time.tokensPerSecond);
  const bool timed = project.training.length.unit == LengthUnit::Hours && options.tokens <= 0;
  run.seconds = timed ? project.training.length.amount * 3600 : run.tokens / report.time.tokensPerSecond * slower;
  run.kilowattHours = powerOf(planning) / 1000 * run.seconds / 3600;
  if (options.pricePerKilowattHour && run.kilowattHours > 0)
    run.cost = *options.pricePerKilowattHour * run.kilowattHours;

  run.tokenCacheBytes = planning.dataBytes();
  run.writtenPerStep = static_cast<Bytes>(step.work.diskWrites());
  if (run.writtenPerStep > 0) {
    run.writtenPerDay = writtenPerDay(step) / slower;
    if (planning.checkpointsShareTheDrive() && between > 0)
      run.writtenPerDay += static_cast<double>(run.checkpointBytes) * day / (between + run.checkpointSeconds);
    wear(planning, options, run);
  }
  return run;
}

} // namespace millrace

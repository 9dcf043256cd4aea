#include "api/plan_outlook.h"

#include "model/blocks.h"
#include "run/state_drives.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr double day = 86400;
constexpr double year = 365.25 * day;
/// A run that takes less of a drive's life than this does not wear it, however fast it writes.
constexpr double worthMinding = 0.01;
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

/// What is written to a drive, or to drives that share it evenly, and what they are rated.
struct Wear {
  double perDay = 0;
  Bytes endurance = 0; ///< 0: not known
  bool assumed = false;
  double years() const { return perDay > 0 ? static_cast<double>(endurance) / perDay * day / year : 0; }
};

void addRating(Wear& wear, const DiskFacts& disk) {
  const bool flash = disk.kind == DiskKind::Nvme || disk.kind == DiskKind::Ssd || disk.kind == DiskKind::Unknown;
  const bool known = disk.ratedEndurance > 0;
  if (!known && !flash) return;
  const double assumed = assumedDriveWrites * static_cast<double>(disk.total);
  wear.endurance += known ? disk.ratedEndurance : static_cast<Bytes>(std::min(assumed, 9e18));
  wear.assumed = wear.assumed || !known;
}

/// Of the drives with the state, and of the one with the checkpoints where that is another.
void addWear(const Planning& planning, const PlanOptions& options, double statePerDay, double checkpointsPerDay,
             PlannedRun& run) {
  const DiskFacts* disk = planning.checkpointDisk();
  if (!disk && options.endurance == 0) checkpointsPerDay = 0; // nobody knows where they go
  const bool together = statePerDay > 0 && planning.checkpointsShareTheDrive();
  Wear state{statePerDay + (together ? checkpointsPerDay : 0)};
  Wear checkpoints{together ? 0 : checkpointsPerDay};
  for (const DiskFacts* drive : planning.stateDrives()) addRating(state, *drive);
  if (disk) addRating(checkpoints, *disk);
  if (options.endurance > 0) {
    Wear& rated = statePerDay > 0 ? state : checkpoints;
    rated.endurance = options.endurance;
    rated.assumed = false;
  }
  const bool checkpointsFirst = checkpoints.years() > 0 && (state.years() <= 0 || checkpoints.years() < state.years());
  const Wear& first = checkpointsFirst ? checkpoints : state;
  run.writtenPerDay = statePerDay + checkpointsPerDay;
  run.wornPerDay = first.perDay;
  run.endurance = first.perDay > 0 ? first.endurance : 0;
  run.enduranceAssumed = first.perDay > 0 && first.assumed;
  run.driveYears = first.years();
}

/// Why the drive is worn too fast; empty: it is not.
std::string wearReason(const PlannedRun& run) {
  if (run.driveYears <= 0) return {};
  const double share = run.seconds / (run.driveYears * year);
  const bool unknownLength = run.seconds <= 0;
  if (share < 1 && !(run.driveYears < 1 && (unknownLength || share > worthMinding))) return {};
  return fmt::format("the drive would be worn out after {:.{}f} days{}: {:.3g} TB a day of a rated {:.6g} TB",
                     run.driveYears * year / day, run.driveYears * year < 10 * day ? 1 : 0,
                     share >= 1 ? ", before the run's end" : "", run.wornPerDay / 1e12,
                     static_cast<double>(run.endurance) / 1e12);
}

PlannedRun outlookOf(const Planning& planning, const Project& project, const ModelSpec& spec, const PlannedStep& step,
                     const PlanOptions& options, double stepSeconds) {
  PlannedRun run;
  const double tokensPerSecond = static_cast<double>(project.training.tokensPerStep()) / stepSeconds;
  const std::int64_t parameters = parameterCount(spec);
  const CheckpointConfig& checkpoint = project.checkpoint;
  run.checkpointBytes = 12 * parameters;
  const DiskFacts* disk = planning.checkpointDisk();
  const double rate = disk && disk->rates.write.known() ? disk->rates.write.perSecond : assumedDiskWrite;
  run.checkpointSeconds = static_cast<double>(run.checkpointBytes) / rate;
  run.checkpointDisk = checkpointDiskBytes(project, parameters);
  if (disk && disk->total > 0) run.checkpointFree = disk->free;
  // Training stands still while one is written.
  double between = 0; // seconds of training
  if (checkpoint.everyMinutes > 0) between = checkpoint.everyMinutes * 60;
  if (checkpoint.every > 0) {
    const double steps = static_cast<double>(checkpoint.every) * stepSeconds;
    between = between > 0 ? std::min(between, steps) : steps;
  }
  const double slower = between > 0 ? 1 + run.checkpointSeconds / between : 1;

  run.tokens = tokensOf(project, options, tokensPerSecond);
  if (run.tokens > 0) run.tokens = std::max(run.tokens, static_cast<double>(project.training.tokensPerStep()));
  const bool timed = project.training.length.unit == LengthUnit::Hours && options.tokens <= 0;
  run.seconds =
      timed ? std::max(project.training.length.amount * 3600, stepSeconds) : run.tokens / tokensPerSecond * slower;
  run.checkpointPauses = run.seconds * (1 - 1 / slower);
  run.kilowattHours = powerOf(planning) / 1000 * run.seconds / 3600;
  if (options.pricePerKilowattHour && run.kilowattHours > 0)
    run.cost = *options.pricePerKilowattHour * run.kilowattHours;

  run.tokenCacheBytes = planning.dataBytes();
  run.writtenPerStep = static_cast<Bytes>(step.work.diskWrites());
  const double checkpointsPerDay =
      between > 0 ? static_cast<double>(run.checkpointBytes) * day / (between + run.checkpointSeconds) : 0;
  addWear(planning, options, step.work.diskWrites() * day / (stepSeconds * slower), checkpointsPerDay, run);
  return run;
}

} // namespace

/// Watts under load: the GPUs that work, and the machine around them. 0: not known.
double powerOf(const Planning& planning) {
  const HardwareProfile& profile = planning.profile();
  double watts = profile.hostPower;
  if (planning.target().gpu < 0) return watts;
  const double gpu = profile.nvidia.gpus[static_cast<std::size_t>(planning.target().gpu)].powerLimit;
  return gpu > 0 ? watts + gpu * planning.target().gpus : 0;
}

Judgement judge(const Planning& planning, const Project& project, const ModelSpec& spec, const PlanOutcome& outcome,
                const PlanOptions& options, double stepSeconds) {
  Judgement judgement;
  judgement.verdict = outcome.verdict;
  judgement.reasons = outcome.reasons;
  judgement.run = outlookOf(planning, project, spec, outcome.step, options, stepSeconds);
  const std::string worn = wearReason(judgement.run);
  if (judgement.verdict == Verdict::DoesNotFit || worn.empty()) return judgement;
  judgement.verdict = Verdict::Tight;
  judgement.reasons.push_back(worn);
  return judgement;
}

} // namespace millrace

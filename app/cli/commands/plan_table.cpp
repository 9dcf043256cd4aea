#include "plan_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

constexpr std::size_t barWidth = 40;

std::string formatNumber(double value) {
  if (value >= 100) return formatCount(static_cast<std::int64_t>(std::llround(value)));
  return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string formatSigned(Bytes bytes) {
  return (bytes < 0 ? "-" : "+") + formatBytes(bytes < 0 ? -bytes : bytes);
}

std::string words(Verdict verdict) {
  switch (verdict) {
  case Verdict::Fits:
    return "fits";
  case Verdict::Tight:
    return "fits, but tightly";
  case Verdict::DoesNotFit:
    return "does not fit";
  }
  return {};
}

/// What is needed of a limit, as a bar; what is above the limit as '!'.
std::string bar(Bytes needed, Bytes limit) {
  if (limit <= 0) return std::string(needed > 0 ? barWidth : 0, '!');
  const double share = static_cast<double>(needed) / static_cast<double>(limit);
  const auto filled = static_cast<std::size_t>(std::lround(std::min(share, 1.0) * barWidth));
  return std::string(filled, share > 1 ? '!' : '#') + std::string(barWidth - filled, '.');
}

void printHead(Console& console, const PlanReport& report) {
  const std::string where = report.machine.empty() ? "this machine" : report.machine;
  const std::string device = report.gpus == 0   ? "the CPU"
                             : report.gpus == 1 ? report.device
                                                : fmt::format("{} x {}", report.gpus, report.device);
  console.line(fmt::format("{}: {} on {} ({})", report.project, words(report.verdict), where, device));
  for (const std::string& reason : report.reasons) console.line("  " + reason);
  console.line(fmt::format("  {} parameters in {} layers, {}; {} tokens a step in {} micro-batches",
                           formatCount(report.parameters), report.layers, toString(report.precision),
                           formatCount(report.tokensPerStep), formatCount(report.microBatches)));
  console.line(fmt::format("  state {}, 12 bytes a parameter; at its peak {} with clip {}",
                           formatBytes(report.stateBytes), formatBytes(report.peakStateBytes), toString(report.clip)));
}

void printTier(Console& console, const PlannedTier& tier) {
  if (tier.needed == 0 && tier.limit == 0 && tier.limitOrigin.empty()) return;
  console.line(fmt::format("{:<6}{:>12} of {:<12}{}{}", tier.name, formatBytes(tier.needed), formatBytes(tier.limit),
                           bar(tier.needed, tier.limit), tier.fits() ? "" : "  TOO SMALL"));
  console.line(fmt::format("        ({})", tier.limitOrigin));
  for (const PlannedCategory& category : tier.categories)
    console.line(fmt::format("  {:<26}{:>12}", category.name, formatBytes(category.bytes)));
}

void printPlacement(Console& console, const PlannedPlacement& placement) {
  std::string homes;
  const auto add = [&](std::int64_t units, const char* what) {
    if (units > 0) homes += fmt::format("{}{} {}", homes.empty() ? "" : ", ", units, what);
  };
  add(placement.onDevice, "wholly in VRAM");
  add(placement.weightsOnDevice, "with weights in VRAM");
  add(placement.streamed, "streamed from RAM");
  add(placement.momentsOnDisk, "with moments on NVMe");
  add(placement.onDisk, "on NVMe");
  console.line(fmt::format("layers and head: {}", homes));
  console.line(fmt::format("  recompute {}, groups of {} micro-batches, {} slots, activations {}", placement.recompute,
                           placement.group, placement.slots,
                           placement.offloadActivations ? "offloaded to RAM" : "kept in VRAM"));
  if (placement.held > 0)
    console.line(
        fmt::format("  gradients of {} layers wait for the next forward, so that AdamW is never idle", placement.held));
  if (placement.updatedOnDevice > 0)
    console.line(fmt::format("  {:.0f}% of the parameters in RAM are updated on the GPU while it would wait",
                             100 * placement.updatedOnDevice));
}

/// "3.24 s", "53 min": three digits of what is short.
std::string stepDuration(double seconds) {
  if (seconds >= 120) return formatDuration(seconds);
  return seconds < 1e-2 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

void printTime(Console& console, const PlannedTime& time) {
  console.line(fmt::format("step: {} ({} at the least), {} tokens/s, {} to {} ({})", stepDuration(time.stepSeconds),
                           stepDuration(time.boundSeconds), formatNumber(time.tokensPerSecond), formatNumber(time.low),
                           formatNumber(time.high),
                           time.rehearsed  ? "layers timed here"
                           : time.measured ? "measured rates"
                                           : "assumed rates"));
  std::string resources;
  for (const ResourceSeconds& resource : time.resources)
    if (resource.seconds > 0)
      resources += fmt::format("{}{} {}", resources.empty() ? "" : ", ", resource.name, stepDuration(resource.seconds));
  console.line("  " + resources);
  console.line(fmt::format("  bound by: {}{}", time.bottleneck,
                           time.computeBindsFrom >= 1 ? fmt::format("; compute alone from {} tokens a step on",
                                                                    formatCount(std::llround(time.computeBindsFrom)))
                                                      : std::string()));
}

void printRun(Console& console, const PlannedRun& run) {
  if (run.tokens > 0) {
    std::string line =
        fmt::format("run: {} tokens in {}", formatCount(std::llround(run.tokens)), formatDuration(run.seconds));
    if (run.checkpointPauses > 0.01 * run.seconds)
      line += fmt::format(", {} of it for checkpoints", formatDuration(run.checkpointPauses));
    if (run.kilowattHours > 0) line += fmt::format(", {} kWh", formatNumber(run.kilowattHours));
    if (run.cost) line += fmt::format(", {} at the price given", formatNumber(*run.cost));
    console.line(line);
  }
  console.line(fmt::format("  a checkpoint is {} and takes {}; those kept, and one being written: {}{}",
                           formatBytes(run.checkpointBytes), formatDuration(run.checkpointSeconds),
                           formatBytes(run.checkpointDisk),
                           run.checkpointFree ? fmt::format(" of {} free", formatBytes(*run.checkpointFree)) : ""));
  if (run.tokenCacheBytes > 0)
    console.line(fmt::format("  token files of the data: about {}", formatBytes(run.tokenCacheBytes)));
  if (run.writtenPerDay <= 0) return;
  std::string line = fmt::format("  {:.3g} TB a day are written", run.writtenPerDay / 1e12);
  if (run.driveYears > 0) {
    line += run.wornPerDay < 0.999 * run.writtenPerDay
                ? fmt::format(", {:.3g} TB of it to the drive that wears out first", run.wornPerDay / 1e12)
                : std::string();
    line += fmt::format("; a drive rated for {} TB{} lasts {}", formatNumber(static_cast<double>(run.endurance) / 1e12),
                        run.enduranceAssumed ? " (assumed)" : "", formatDuration(run.driveYears * 365.25 * 86400));
  }
  console.line(line);
}

void printAdvice(Console& console, const PlanReport& report) {
  const PlannedLargest& largest = report.largest;
  std::string fits;
  const auto add = [&](bool any, const std::string& what) {
    if (any) fits += (fits.empty() ? "" : ", ") + what;
  };
  add(largest.context > 0, "context " + formatCount(largest.context));
  add(largest.microBatch > 0, "micro-batch " + formatCount(largest.microBatch));
  add(largest.parameters > 0, fmt::format("model of {:.3g} billion parameters", largest.parameters / 1e9));
  if (!fits.empty()) console.line("largest that would fit: " + fits);
  if (report.advice.empty()) return;
  console.line(report.fits() ? "advice:" : "what would make it fit:");
  for (const PlanAdvice& advice : report.advice) {
    std::string settings;
    for (const ProjectChange& change : advice.changes)
      settings += fmt::format(" --set {}='{}'", change.key, change.value);
    console.line("  " + advice.text + (settings.empty() ? "" : ":" + settings));
    std::string effect = fmt::format("    {} tokens/s", formatNumber(advice.tokensPerSecond));
    if (report.fits())
      effect += fmt::format(" ({:+.0f}%)", 100 * advice.tokensPerSecondMore / report.time.tokensPerSecond);
    effect += fmt::format(", VRAM {}, RAM {}", formatSigned(advice.vram), formatSigned(advice.ram));
    if (advice.nvme != 0) effect += ", NVMe " + formatSigned(advice.nvme);
    if (advice.terabytesPerDay != 0) effect += fmt::format(", {:+.3g} TB written a day", advice.terabytesPerDay);
    if (advice.verdict == Verdict::Tight) effect += "; tight";
    console.line(effect);
  }
}

} // namespace

std::string formatDuration(double seconds) {
  constexpr double minute = 60, hour = 3600, day = 86400, year = 365.25 * day;
  if (seconds >= 2 * year) return fmt::format("{} years", formatNumber(seconds / year));
  if (seconds >= 2 * day) return fmt::format("{} days", formatNumber(seconds / day));
  if (seconds >= hour) {
    const auto minutes = std::llround(seconds / minute);
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  }
  if (seconds >= 2 * minute) return fmt::format("{:.0f} min", seconds / minute);
  return seconds < 10 ? fmt::format("{:.2g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

void printPlan(Console& console, const PlanReport& report) {
  printHead(console, report);
  for (const PlannedTier& tier : report.tiers) printTier(console, tier);
  printPlacement(console, report.placement);
  printTime(console, report.time);
  printRun(console, report.run);
  printAdvice(console, report);
  for (const std::string& note : report.notes) console.line("note: " + note);
}

} // namespace millrace::cli

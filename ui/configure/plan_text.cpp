#include "configure/plan_text.h"

#include "bridge/text.h"
#include "style/numbers.h"

#include <QCoreApplication>
#include <cmath>

namespace millrace::ui {

namespace {

struct PlanText {
  Q_DECLARE_TR_FUNCTIONS(PlanText)
};

/// Three significant digits, all digits of what is larger.
QString rateText(double value) {
  return std::fabs(value) >= 100 ? countText(std::llround(value)) : numberText(value, 3);
}

QString signedBytes(Bytes bytes) {
  return (bytes < 0 ? QString() : QStringLiteral("+")) + bytesText(bytes);
}

QString ratesText(const PlannedTime& time) {
  if (time.rehearsed) return PlanText::tr("layers timed on this machine");
  return time.measured ? PlanText::tr("measured on this machine")
                       : PlanText::tr("assumed, from data sheets and tables");
}

QString runText(const PlannedRun& run) {
  QString text = PlanText::tr("%1 tokens in %2").arg(countText(std::llround(run.tokens)), durationText(run.seconds));
  if (run.kilowattHours > 0) text += PlanText::tr(", %1 kWh").arg(rateText(run.kilowattHours));
  return text;
}

/// Each with the other settings as they are; empty: none fits.
QString largestText(const PlannedLargest& largest) {
  QStringList parts;
  if (largest.context > 0) parts << PlanText::tr("context %1").arg(countText(largest.context));
  if (largest.microBatch > 0) parts << PlanText::tr("micro-batch %1").arg(countText(largest.microBatch));
  if (largest.parameters > 0) parts << PlanText::tr("model of %1 parameters").arg(shortCountText(largest.parameters));
  return parts.join(", ");
}

} // namespace

QString verdictText(Verdict verdict) {
  switch (verdict) {
  case Verdict::Fits:
    return PlanText::tr("Fits");
  case Verdict::Tight:
    return PlanText::tr("Fits, but tightly");
  case Verdict::DoesNotFit:
    break;
  }
  return PlanText::tr("Does not fit");
}

QString modelText(const PlanReport& report) {
  return PlanText::tr("%1 parameters in %2 layers, %3; %4 tokens a step")
      .arg(countText(report.parameters), countText(report.layers), toQt(toString(report.precision)),
           countText(report.tokensPerStep));
}

std::vector<std::pair<QString, QString>> timeTexts(const PlanReport& report) {
  const PlannedTime& time = report.time;
  std::vector<std::pair<QString, QString>> texts;
  if (time.stepSeconds > 0) {
    texts.emplace_back(PlanText::tr("Speed"),
                       PlanText::tr("%1 tokens/s (%2 to %3)")
                           .arg(rateText(time.tokensPerSecond), rateText(time.low), rateText(time.high)));
    texts.emplace_back(PlanText::tr("Rates"), ratesText(time));
    texts.emplace_back(PlanText::tr("Step"), durationText(time.stepSeconds));
    texts.emplace_back(PlanText::tr("Bound by"), toQt(time.bottleneck));
  }
  if (report.run.tokens > 0) texts.emplace_back(PlanText::tr("Whole run"), runText(report.run));
  if (report.run.checkpointBytes > 0)
    texts.emplace_back(PlanText::tr("Checkpoint"),
                       PlanText::tr("%1; %2 for those kept and one being written")
                           .arg(bytesText(report.run.checkpointBytes), bytesText(report.run.checkpointDisk)));
  if (const QString largest = largestText(report.largest); !largest.isEmpty())
    texts.emplace_back(PlanText::tr("Largest"), largest);
  return texts;
}

QString tierName(const PlannedTier& tier) {
  if (tier.name == "vram") return PlanText::tr("Device memory");
  if (tier.name == "ram") return PlanText::tr("Host memory");
  if (tier.name == "nvme") return PlanText::tr("NVMe");
  return toQt(tier.name);
}

const PlannedTier* worstTier(const PlanReport& report) {
  const PlannedTier* worst = nullptr;
  for (const PlannedTier& tier : report.tiers)
    if (!tier.fits() && (!worst || tier.needed - tier.limit > worst->needed - worst->limit)) worst = &tier;
  return worst;
}

QString effectText(const PlanReport& report, const PlanAdvice& advice) {
  QString text = PlanText::tr("%1 tokens/s").arg(rateText(advice.tokensPerSecond));
  if (report.fits() && report.time.tokensPerSecond > 0) {
    const auto percent = std::lround(100 * advice.tokensPerSecondMore / report.time.tokensPerSecond);
    text += QStringLiteral(" (%1%2%)").arg(percent < 0 ? "" : "+").arg(percent);
  }
  if (advice.vram != 0) text += PlanText::tr(", VRAM %1").arg(signedBytes(advice.vram));
  if (advice.ram != 0) text += PlanText::tr(", RAM %1").arg(signedBytes(advice.ram));
  if (advice.nvme != 0) text += PlanText::tr(", NVMe %1").arg(signedBytes(advice.nvme));
  if (advice.addRam > 0) text += PlanText::tr("; the machine needs %1 more RAM").arg(bytesText(advice.addRam));
  if (advice.addDisk > 0) text += PlanText::tr("; the machine needs %1 more NVMe").arg(bytesText(advice.addDisk));
  if (advice.verdict == Verdict::Tight) text += PlanText::tr("; tight");
  if (advice.verdict == Verdict::DoesNotFit) text += PlanText::tr("; it still does not fit");
  return text;
}

QString changesText(const PlanAdvice& advice) {
  QStringList lines;
  for (const ProjectChange& change : advice.changes)
    lines << QStringLiteral("%1 = %2").arg(toQt(change.key), toQt(change.value));
  return lines.join(u'\n');
}

} // namespace millrace::ui

#include "models/run_columns.h"

#include <limits>

namespace millrace::ui {

namespace {

constexpr double notKnown = std::numeric_limits<double>::quiet_NaN();

double percentOfLink(std::int64_t bytes, double busy, double peak, double seconds) {
  if (!(seconds > 0)) return notKnown;
  return 100 * (peak > 0 ? static_cast<double>(bytes) / seconds / peak : busy / seconds);
}

double bytesOrNothing(std::int64_t bytes) {
  return bytes > 0 ? static_cast<double>(bytes) : notKnown;
}

} // namespace

QStringList stepColumnNames() {
  return {QStringLiteral("step"),
          QStringLiteral("tokens"),
          QStringLiteral("time"),
          QStringLiteral("loss"),
          QStringLiteral("grad_norm"),
          QStringLiteral("learning_rate"),
          QStringLiteral("tokens_per_second"),
          QStringLiteral("seconds"),
          QStringLiteral("bound_seconds"),
          QStringLiteral("link_in_percent"),
          QStringLiteral("link_out_percent"),
          QStringLiteral("device_bytes"),
          QStringLiteral("host_bytes"),
          QStringLiteral("planned_device_bytes"),
          QStringLiteral("planned_host_bytes"),
          QStringLiteral("stall_weights_percent"),
          QStringLiteral("stall_optimizer_percent"),
          QStringLiteral("stall_copy_out_percent"),
          QStringLiteral("stall_data_percent"),
          QStringLiteral("gpu_utilization_percent"),
          QStringLiteral("gpu_power_watts"),
          QStringLiteral("gpu_temperature")};
}

QStringList evaluationColumnNames() {
  return {QStringLiteral("step"),       QStringLiteral("tokens"),
          QStringLiteral("time"),       QStringLiteral("validation_loss"),
          QStringLiteral("perplexity"), QStringLiteral("bits_per_byte")};
}

std::vector<double> rowOf(const StepMetrics& metrics) {
  const double seconds = metrics.seconds;
  double in = notKnown, out = notKnown;
  if (!metrics.links.empty()) {
    const LinkMetrics& link = metrics.links.front();
    in = percentOfLink(link.bytesIn, link.secondsIn, link.peakIn, seconds);
    out = percentOfLink(link.bytesOut, link.secondsOut, link.peakOut, seconds);
  }
  const auto stall = [&](double waited) { return seconds > 0 ? 100 * waited / seconds : notKnown; };
  const GpuMetrics gpu = metrics.gpu.value_or(GpuMetrics{});
  return {static_cast<double>(metrics.step),
          static_cast<double>(metrics.tokensTotal),
          metrics.time,
          metrics.loss,
          metrics.gradNorm,
          metrics.learningRate,
          metrics.tokensPerSecond,
          seconds,
          metrics.boundSeconds > 0 ? metrics.boundSeconds : notKnown,
          in,
          out,
          bytesOrNothing(metrics.peak.device),
          bytesOrNothing(metrics.peak.host),
          bytesOrNothing(metrics.planned.device),
          bytesOrNothing(metrics.planned.host),
          stall(metrics.stalls.waitWeights),
          stall(metrics.stalls.waitOptimizer),
          stall(metrics.stalls.waitCopyOut),
          stall(metrics.stalls.waitData),
          100 * gpu.utilization.value_or(notKnown),
          gpu.powerWatts.value_or(notKnown),
          gpu.temperature.value_or(notKnown)};
}

std::vector<double> rowOf(const Evaluation& evaluation, std::int64_t step, std::int64_t tokens, double time) {
  return {static_cast<double>(step), static_cast<double>(tokens), time,
          evaluation.loss,           evaluation.perplexity,       evaluation.bitsPerByte};
}

} // namespace millrace::ui

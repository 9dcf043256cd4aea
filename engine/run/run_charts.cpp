#include "run/run_charts.h"

#include "base/atomic_file.h"
#include "run/metrics_file.h"
#include "run/run_history.h"
#include "run/svg_chart.h"

#include <cmath>

namespace millrace {

namespace {

/// Exponential moving average with its start corrected, over the finite values.
std::vector<double> smoothed(const std::vector<double>& values, double weight) {
  std::vector<double> out;
  double sum = 0, total = 0;
  for (const double value : values) {
    if (std::isfinite(value)) {
      sum = weight * sum + (1 - weight) * value;
      total = weight * total + (1 - weight);
    }
    out.push_back(total > 0 ? sum / total : std::nan(""));
  }
  return out;
}

Result<ChartSeries> validationLoss(FileSystem& files, const RunDirectory& run) {
  ChartSeries series{"validation", {}, {}, false, true};
  MILLRACE_TRY(const RunHistory history, readHistory(files, run));
  for (const EvaluatedStep& each : history.evaluations) {
    series.x.push_back(static_cast<double>(each.step));
    series.y.push_back(each.loss);
  }
  return series;
}

} // namespace

Status writeCharts(FileSystem& files, const RunDirectory& run) {
  MILLRACE_TRY(MetricsReader reader, MetricsReader::open(files, run.metrics()));
  std::vector<double> steps, loss, rate, norm, speed;
  for (;;) {
    MILLRACE_TRY(const auto metrics, reader.next());
    if (!metrics) break;
    steps.push_back(static_cast<double>(metrics->step));
    loss.push_back(metrics->loss);
    rate.push_back(metrics->learningRate);
    norm.push_back(metrics->gradNorm);
    speed.push_back(metrics->tokensPerSecond);
  }
  if (steps.empty()) return {};
  const Path folder = run.path() / "charts";
  MILLRACE_CHECK(files.createDirectories(folder));
  MILLRACE_TRY(ChartSeries validation, validationLoss(files, run));
  ChartDescription lossChart{
      "Loss",
      "step",
      "nats a token",
      {{"training", steps, loss, true, false}, {"training, smoothed", steps, smoothed(loss, 0.95), false, false}}};
  if (!validation.x.empty()) lossChart.series.push_back(std::move(validation));
  MILLRACE_CHECK(writeTextFile(files, folder / "loss.svg", svgChart(lossChart)));
  MILLRACE_CHECK(
      writeTextFile(files, folder / "learning-rate.svg",
                    svgChart({"Learning rate", "step", "", {{"learning rate", steps, rate, false, false}}})));
  MILLRACE_CHECK(writeTextFile(
      files, folder / "gradient-norm.svg",
      svgChart({"Gradient norm before clipping", "step", "l2", {{"gradient norm", steps, norm, false, false}}})));
  return writeTextFile(
      files, folder / "throughput.svg",
      svgChart({"Throughput",
                "step",
                "tokens/s",
                {{"each step", steps, speed, true, false}, {"smoothed", steps, smoothed(speed, 0.95), false, false}}}));
}

} // namespace millrace

#include "engine/run_compare.h"

#include "api/run_settings.h"
#include "run/metrics_file.h"
#include "run/run_history.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <functional>

namespace millrace {

namespace {

constexpr int marks = 10;
constexpr std::size_t recentSteps = 100;

Status forEachStep(FileSystem& files, const Path& run, const std::function<void(const StepMetrics&)>& take) {
  MILLRACE_TRY(MetricsReader reader, MetricsReader::open(files, RunDirectory(run).metrics()));
  for (;;) {
    MILLRACE_TRY(const auto metrics, reader.next());
    if (!metrics) return {};
    take(*metrics);
  }
}

Result<ComparedRun> figuresOf(FileSystem& files, const Path& run) {
  ComparedRun figures;
  MILLRACE_TRY(figures.details, runDetails(files, run));
  std::deque<double> recent;
  std::int64_t tokens = 0;
  const auto take = [&](const StepMetrics& metrics) {
    figures.steps = metrics.step;
    figures.tokens = metrics.tokensTotal;
    figures.seconds += metrics.seconds;
    tokens += metrics.tokens;
    if (!std::isfinite(metrics.loss)) {
      ++figures.unfinite;
      return;
    }
    recent.push_back(metrics.loss);
    if (recent.size() > recentSteps) recent.pop_front();
  };
  MILLRACE_CHECK(forEachStep(files, run, take));
  double sum = 0;
  for (const double loss : recent) sum += loss;
  if (!recent.empty()) figures.loss = sum / static_cast<double>(recent.size());
  if (figures.seconds > 0) figures.tokensPerSecond = static_cast<double>(tokens) / figures.seconds;
  return figures;
}

/// The losses of one run up to each mark of one axis.
class Marks {
 public:
  explicit Marks(std::vector<double> at) : m_at(std::move(at)), m_losses(m_at.size()) {}

  /// Steps in rising order; validation: the last by then.
  void take(double x, double loss, const std::optional<double>& validation) {
    while (m_next < m_at.size() && x > m_at[m_next]) close();
    if (m_next == m_at.size()) return;
    m_validation = validation;
    if (!std::isfinite(loss)) return;
    m_sum += loss;
    ++m_count;
  }
  const std::vector<LossAt>& finish() {
    while (m_next < m_at.size()) close();
    return m_losses;
  }

 private:
  void close() {
    LossAt& losses = m_losses[m_next++];
    if (m_count > 0) losses.training = m_sum / static_cast<double>(m_count);
    losses.validation = m_validation;
    m_sum = 0;
    m_count = 0;
  }

  const std::vector<double> m_at;
  std::vector<LossAt> m_losses;
  std::size_t m_next = 0;
  double m_sum = 0;
  std::int64_t m_count = 0;
  std::optional<double> m_validation;
};

/// Equal ones up to where all runs went; whole numbers where steps or tokens are counted.
std::vector<double> marksUpTo(double end, bool whole) {
  std::vector<double> at;
  if (!(end > 0)) return at;
  for (int i = 1; i <= marks; ++i) {
    const double exact = end * i / marks;
    const double mark = i == marks ? end : whole ? std::floor(exact) : exact; // the last step is among them
    if (mark > 0 && (at.empty() || mark > at.back())) at.push_back(mark);
  }
  return at;
}

struct Axis {
  std::vector<double> at;
  std::vector<LossesAt>* table;
};

Status compareLosses(FileSystem& files, std::span<const Path> runs, RunComparison& comparison) {
  const auto shortest = [&](auto&& figure) {
    double end = INFINITY;
    for (const ComparedRun& run : comparison.runs) end = std::min(end, static_cast<double>(figure(run)));
    return end;
  };
  std::vector<Axis> axes = {
      {marksUpTo(shortest([](const ComparedRun& run) { return run.steps; }), true), &comparison.bySteps},
      {marksUpTo(shortest([](const ComparedRun& run) { return run.tokens; }), true), &comparison.byTokens},
      {marksUpTo(shortest([](const ComparedRun& run) { return run.seconds; }), false), &comparison.bySeconds}};
  for (const Axis& axis : axes)
    for (const double at : axis.at) axis.table->push_back({at, {}});
  for (const Path& run : runs) {
    MILLRACE_TRY(const RunHistory history, readHistory(files, RunDirectory(run)));
    Marks bySteps(axes[0].at), byTokens(axes[1].at), bySeconds(axes[2].at);
    double seconds = 0;
    std::size_t evaluation = 0;
    std::optional<double> validation;
    MILLRACE_CHECK(forEachStep(files, run, [&](const StepMetrics& metrics) {
      seconds += metrics.seconds;
      while (evaluation < history.evaluations.size() && history.evaluations[evaluation].step <= metrics.step)
        validation = history.evaluations[evaluation++].loss;
      bySteps.take(static_cast<double>(metrics.step), metrics.loss, validation);
      byTokens.take(static_cast<double>(metrics.tokensTotal), metrics.loss, validation);
      bySeconds.take(seconds, metrics.loss, validation);
    }));
    Marks* const of[] = {&bySteps, &byTokens, &bySeconds};
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const std::vector<LossAt>& losses = of[axis]->finish();
      for (std::size_t mark = 0; mark < losses.size(); ++mark) (*axes[axis].table)[mark].runs.push_back(losses[mark]);
    }
  }
  return {};
}

} // namespace

Result<RunComparison> compareRuns(FileSystem& files, std::span<const Path> runs) {
  if (runs.size() < 2) return badInput(fmt::format("it takes two runs to compare, {} given", runs.size()));
  RunComparison comparison;
  std::vector<std::string> names;
  std::vector<RunSettings> settings;
  std::vector<ValidationIdentity> identities;
  for (const Path& run : runs) {
    MILLRACE_TRY(RunSettings set, readSettings(files, run));
    settings.push_back(std::move(set));
    identities.push_back(validationIdentity(files, run));
    MILLRACE_TRY(ComparedRun figures, figuresOf(files, run));
    names.push_back(figures.details.info.name);
    comparison.runs.push_back(std::move(figures));
  }
  comparison.settings = differencesOf(settings);
  comparison.warnings = comparabilityWarnings(names, settings, identities);
  MILLRACE_CHECK(compareLosses(files, runs, comparison));
  return comparison;
}

} // namespace millrace

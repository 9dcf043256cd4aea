#include "run/run_history.h"

#include "run/json_lines_reader.h"

#include <cmath>

namespace millrace {

Result<RunHistory> readHistory(FileSystem& files, const RunDirectory& run) {
  RunHistory history;
  if (!files.exists(run.events())) return history;
  JsonLinesReader lines(files, run.events());
  for (;;) {
    MILLRACE_TRY(const auto line, lines.next());
    if (!line) return history;
    const auto event = runEventFromJson(line->text, run.events().string());
    if (!event) continue;
    if (history.began == 0) history.began = event->time;
    const auto* evaluation = std::get_if<Evaluation>(&event->body);
    if (!evaluation) continue;
    auto& all = history.evaluations;
    while (!all.empty() && all.back().step >= event->step) all.pop_back();
    all.push_back({event->step, evaluation->loss});
  }
}

std::optional<EvaluatedStep> bestOf(const std::vector<EvaluatedStep>& evaluations) {
  std::optional<EvaluatedStep> best;
  for (const EvaluatedStep& each : evaluations)
    if (std::isfinite(each.loss) && (!best || each.loss < best->loss)) best = each;
  return best;
}

} // namespace millrace

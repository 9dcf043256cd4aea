#include "run/run_status.h"

#include "run/json_lines_reader.h"
#include "run/metrics_file.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

struct LastState {
  StateChanged change;
  double time = 0;
};

/// Reads events.jsonl from its end; a few lines as a rule.
std::optional<LastState> lastState(FileSystem& files, const Path& events) {
  std::optional<LastState> last;
  if (!files.exists(events)) return last;
  const auto file = files.open(events, OpenMode::Read);
  if (!file) return last;
  (void)visitLinesBackward(**file, [&](const JsonLine& line) { // an unreadable file tells nothing
    if (line.text.find("\"state\"") == std::string::npos) return true;
    const auto event = runEventFromJson(line.text, events.string());
    const auto* change = event ? std::get_if<StateChanged>(&event->body) : nullptr;
    if (change) last = LastState{*change, event->time};
    return !change;
  });
  return last;
}

RunOutcome outcomeOf(RunState state) {
  if (state == RunState::Finished) return RunOutcome::Finished;
  return state == RunState::Failed ? RunOutcome::Failed : RunOutcome::Interrupted;
}

std::string silentEnd(const OwnerRecord& owner) {
  const ProcessIdentity self = currentProcess();
  const bool rebooted = owner.process.host == self.host && owner.process.bootId != self.bootId;
  return fmt::format("{} ended without saying why ({}); last heard of {}", describe(owner),
                     rebooted ? "the machine has been restarted since" : "killed or crashed",
                     formatTime(owner.heartbeat));
}

} // namespace

std::string_view toString(RunOutcome outcome) {
  switch (outcome) {
  case RunOutcome::Live:
    return "live";
  case RunOutcome::Finished:
    return "finished";
  case RunOutcome::Interrupted:
    return "interrupted";
  case RunOutcome::Failed:
    return "failed";
  }
  return "unknown";
}

RunStatus runStatus(FileSystem& files, const RunDirectory& run) {
  RunStatus status;
  const OwnerProbe probe = probeOwner(run.owner());
  const std::optional<LastState> last = lastState(files, run.events());
  status.owner = probe.record;
  if (last) status.state = last->change.state;
  if (probe.live) {
    status.outcome = RunOutcome::Live;
    if (last) status.reason = last->change.reason;
  } else if (probe.record && probe.record->ended) {
    status.outcome = outcomeOf(probe.record->endState);
    status.state = probe.record->endState;
    status.reason = probe.record->endReason;
  } else if (last && isFinal(last->change.state) && (!probe.record || probe.record->since <= last->time)) {
    status.outcome = outcomeOf(last->change.state);
    status.reason = last->change.reason;
  } else {
    status.reason = probe.record ? silentEnd(*probe.record) : "nothing tells who worked on it";
  }
  return status;
}

RunSummary summarize(FileSystem& files, const RunDirectory& run) {
  RunSummary summary;
  summary.name = run.name();
  summary.path = run.path();
  if (const auto contents = readRunFile(files, run); contents && contents->is_object()) {
    const auto name = contents->find("name");
    if (name != contents->end() && name->is_string() && !name->get_ref<const std::string&>().empty())
      summary.name = name->get<std::string>();
  }
  summary.status = runStatus(files, run);
  if (auto last = lastMetrics(files, run.metrics())) summary.last = std::move(*last);
  if (summary.last) summary.changed = summary.last->time;
  if (summary.status.owner) summary.changed = std::max(summary.changed, summary.status.owner->heartbeat);
  return summary;
}

Result<std::vector<RunSummary>> listRuns(FileSystem& files, const Path& folder) {
  std::vector<RunSummary> runs;
  if (!files.exists(folder)) return runs;
  MILLRACE_TRY(const std::vector<std::string> names, files.list(folder));
  for (const std::string& name : names)
    if (isRun(files, folder / name)) runs.push_back(summarize(files, RunDirectory(folder / name)));
  std::stable_sort(runs.begin(), runs.end(),
                   [](const RunSummary& a, const RunSummary& b) { return a.changed > b.changed; });
  return runs;
}

} // namespace millrace

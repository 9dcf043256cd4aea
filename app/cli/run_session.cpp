#include "run_session.h"

#include "engine/hardware.h"
#include "engine/runs.h"
#include "run_display.h"
#include "stop_signals.h"

#include <atomic>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>

namespace millrace::cli {

namespace {

/// Rung by the run and by signals, waited for by the main thread.
class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(m_mutex);
      m_rung = true;
    }
    m_wake.notify_one();
  }
  void wait() {
    std::unique_lock lock(m_mutex);
    m_wake.wait(lock, [this] { return m_rung; });
    m_rung = false;
  }

 private:
  std::mutex m_mutex; // guards m_rung
  std::condition_variable m_wake;
  bool m_rung = false;
};

/// True when the run has ended.
bool showEvents(Run& run, RunDisplay& display) {
  bool ended = false;
  for (const RunEvent& event : run.takeEvents()) {
    display.show(event);
    const auto* change = std::get_if<StateChanged>(&event.body);
    ended = ended || (change && isFinal(change->state));
  }
  return ended;
}

Result<int> tellEnd(Program& program, const RunSession& session, const RunOutcomeReport& report, bool sampleShown) {
  const std::string directory = session.directory.string();
  switch (report.state) {
  case RunState::Finished:
    if (!session.json) describeRun(program, session.directory, !sampleShown);
    return done;
  case RunState::Interrupted:
    program.console.line(fmt::format("{}; checkpoint: {}; go on with: millrace resume {}",
                                     report.error ? report.error->message : "stopped",
                                     report.checkpoint.empty() ? "none yet" : report.checkpoint.string(), directory));
    return interruptedAfterSaving;
  default:
    break;
  }
  return tl::unexpected(report.error.value_or(Error{ErrorKind::Failed, directory + ": the run failed"}));
}

} // namespace

void describeRun(Program& program, const std::filesystem::path& directory, bool withSample) {
  const Result<RunInfo> info = runInfo(program.files, directory);
  if (!info) return; // it was there a moment ago; nothing more to tell
  Console& console = program.console;
  if (withSample && info->lastSample)
    console.line(fmt::format("sample: {}", printable(info->lastSample->prompt + info->lastSample->text)));
  console.line(fmt::format("run:        {}", directory.string()));
  for (const Path& chart : info->charts) console.line(fmt::format("chart:      {}", chart.string()));
  if (info->checkpoint) console.line(fmt::format("checkpoint: {}", info->checkpoint->string()));
}

Result<int> carryThrough(Program& program, const RunSession& session,
                         const std::function<Result<std::unique_ptr<Run>>(const RunOptions&)>& open) {
  if (session.json) program.console.reserveOutput();
  program.outputIsResult = false; // the run is: its files have all that is shown here
  std::unique_ptr<Run> run;       // outlives the thread that signals come on
  StopSignals signals;            // before the run's threads
  const auto bell = std::make_shared<Bell>();
  RunOptions options;
  options.directory = session.directory;
  options.wake = [bell] { bell->ring(); };
  MILLRACE_TRY(run, open(options));
  for (const std::string& notice : gpuNotices(inspectMachine())) program.console.line(notice);

  RunDisplay display(program.console);
  std::atomic<int> stops{0};
  signals.deliver([&run, bell, &stops] {
    run->stop();
    stops.fetch_add(1);
    bell->ring();
  });
  int told = 0;
  for (bool ended = false; !ended;) {
    bell->wait();
    if (const int asked = stops.load(); asked > told) {
      if (told == 0) program.console.line("stopping and saving; a second signal gives the save up");
      if (asked > 1 && told < 2) program.console.line("giving the save up; the checkpoint before stands");
      told = asked;
    }
    ended = showEvents(*run, display);
  }
  const RunOutcomeReport report = run->wait();
  showEvents(*run, display);
  display.finish();
  return tellEnd(program, session, report, display.lastSampleStep() == report.step);
}

} // namespace millrace::cli

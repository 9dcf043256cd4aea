#include "engine/run.h"

#include "run/device_choice.h"
#include "run/run_branch.h"
#include "run/run_loop.h"
#include "run/run_status.h"
#include "run/sleep_inhibitor.h"

#include <fmt/format.h>
#include <thread>

namespace millrace {

namespace {
/// Steps, samples and log lines that may wait for a slow consumer; metrics.jsonl has them all.
constexpr std::size_t queueCapacity = 10000;

Severity severityOf(LogLevel level) {
  switch (level) {
  case LogLevel::Debug:
    return Severity::Debug;
  case LogLevel::Info:
    return Severity::Info;
  case LogLevel::Warning:
    return Severity::Warning;
  case LogLevel::Error:
    return Severity::Error;
  }
  return Severity::Info;
}

Error asError(const std::exception& problem) {
  if (const auto* known = dynamic_cast<const EngineException*>(&problem)) return known->error();
  if (dynamic_cast<const std::bad_alloc*>(&problem))
    return {ErrorKind::DoesNotFit,
            "the system has no memory left: close other programs, or lower memory.ram_limit so that less is planned"};
  return {ErrorKind::Failed, problem.what()};
}
} // namespace

class Run::Implementation {
 public:
  Implementation(FileSystem& files, RunDescription description, OwnedRun owned, bool resume, const RunOptions& options)
      : m_files(files),
        m_description(std::move(description)),
        m_owned(std::move(owned)),
        m_resume(resume),
        m_queue(
            queueCapacity, options.wake ? options.wake : [] {}) {}

  ~Implementation() {
    if (!m_requests.stopping()) m_requests.stop(); // twice would give up a save that has been asked for
    if (m_thread.joinable()) m_thread.join();
  }

  /// Opens the files and begins. After a failure the owner's record says why.
  Status begin() {
    const RunDirectory& directory = m_owned.directory;
    m_log.addListener([this](LogLevel level, std::string_view message) {
      m_queue.push({unixTime(), m_gauge.step, LogLine{severityOf(level), std::string(message)}});
    });
    m_log.addFile(directory.log().string());
    for (const std::string& warning : m_description.warnings) m_log.warning("{}", warning);
    if (!m_owned.owner->warning().empty()) m_log.warning("{}", m_owned.owner->warning());
    m_checkpoints.emplace(m_files, directory.checkpoints(), m_log);
    MILLRACE_CHECK(m_files.createDirectories(directory.checkpoints()));
    MILLRACE_CHECK(m_checkpoints->recover());
    std::optional<std::int64_t> resumeStep;
    if (m_resume) {
      const auto good = m_checkpoints->latestGood();
      resumeStep = good ? good->step : m_description.branch ? m_description.branch->step : 0;
    } else {
      if (m_description.branch) MILLRACE_CHECK(copyHistory(m_files, *m_description.branch, directory));
      MILLRACE_CHECK(writeRunFile(m_files, directory, runFileContents(m_description)));
    }
    MILLRACE_TRY(RunJournal journal, RunJournal::open(m_files, directory, resumeStep));
    m_reporter.emplace(m_queue, std::move(journal));
    startServer();
    m_thread = std::thread([this] { work(); });
    return {};
  }

  OwnerLock& owner() { return *m_owned.owner; }
  RunRequests& requests() { return m_requests; }
  RunGauge& gauge() { return m_gauge; }
  EventQueue& queue() { return m_queue; }

  RunOutcomeReport wait() {
    Lock lock(m_mutex);
    while (!m_report) m_ended.wait(m_mutex);
    return *m_report;
  }

 private:
  void startServer() {
    ControlHandlers handlers;
    handlers.status = [this] {
      return Json{{"state", std::string(toString(m_gauge.state.load()))},
                  {"step", m_gauge.step.load()},
                  {"total_steps", m_gauge.totalSteps.load()},
                  {"loss", m_gauge.loss.load()},
                  {"tokens_per_second", m_gauge.tokensPerSecond.load()}};
    };
    handlers.pause = [this]() -> Status {
      m_requests.pause();
      return {};
    };
    handlers.resume = [this]() -> Status {
      m_requests.resume();
      return {};
    };
    handlers.checkpoint = [this]() -> Status {
      m_requests.checkpoint();
      return {};
    };
    handlers.stop = [this]() -> Status {
      m_requests.stop();
      return {};
    };
    auto server = ControlServer::start(m_owned.directory, *m_owned.owner, std::move(handlers));
    if (!server) {
      m_log.warning("the run cannot be steered from outside: {}", server.error().message);
      return;
    }
    m_server = std::move(*server);
    m_reporter->setServer(m_server.get());
  }

  void say(RunState state, const std::string& reason) {
    m_gauge.state = state;
    (void)m_reporter->report({unixTime(), m_gauge.step, StateChanged{state, reason}});
  }

  /// The one place where what ends a run is caught and told.
  void work() {
    RunOutcomeReport report;
    Status outcome;
    try {
      outcome = carryOut(report);
    } catch (const std::exception& problem) {
      outcome = tl::unexpected<Error>(asError(problem));
    }
    if (outcome)
      report.state = RunState::Finished;
    else if (outcome.error().kind == ErrorKind::Interrupted)
      report.state = RunState::Interrupted;
    else {
      report.state = RunState::Failed;
      m_log.error("{}", outcome.error().message);
    }
    if (!outcome) report.error = outcome.error();
    const std::string reason = outcome ? std::string() : outcome.error().message;
    say(report.state, reason);
    (void)m_reporter->retry();
    (void)m_reporter->sync();
    m_server.reset();
    m_reporter->setServer(nullptr);
    m_owned.owner->finish(report.state, reason);
    Lock lock(m_mutex);
    m_report = std::move(report);
    m_ended.notifyAll();
  }

  Status carryOut(RunOutcomeReport& report) {
    say(RunState::Preparing, {});
    const SleepInhibitor awake = SleepInhibitor::start(m_owned.directory.path().filename().string());
    if (!awake.active())
      m_log.write(LogLevel::Debug, "this machine may go to sleep while it trains: " + awake.reason());
    MILLRACE_TRY(PreparedRun run,
                 prepareRun(m_files, m_description, m_owned.directory, *m_checkpoints, m_resume, m_requests, m_log,
                            [this](const std::string& words) { m_log.info("{}", words); }));
    RunLoop loop(m_files, m_description, run, *m_checkpoints, m_owned.directory, m_requests, *m_reporter, m_gauge,
                 m_log);
    Status outcome;
    try {
      outcome = loop.train();
    } catch (const std::exception& problem) {
      outcome = tl::unexpected<Error>(asError(problem));
    }
    report.step = loop.step();
    report.checkpoint = loop.lastCheckpoint();
    if (report.checkpoint.empty())
      if (const auto saved = m_checkpoints->list(); saved && !saved->empty()) report.checkpoint = saved->back().path;
    return outcome;
  }

  FileSystem& m_files;
  const RunDescription m_description;
  OwnedRun m_owned;
  const bool m_resume;
  EventQueue m_queue;
  Log m_log;
  RunRequests m_requests;
  RunGauge m_gauge;
  std::optional<CheckpointStore> m_checkpoints;
  std::optional<RunReporter> m_reporter;
  std::unique_ptr<ControlServer> m_server;
  Mutex m_mutex;
  Condition m_ended;
  std::optional<RunOutcomeReport> m_report MILLRACE_GUARDED_BY(m_mutex);
  std::thread m_thread;
};

Run::Run(std::unique_ptr<Implementation> implementation) : m_implementation(std::move(implementation)) {}
Run::~Run() = default;

Result<std::unique_ptr<Run>> Run::start(FileSystem& files, const Project& project, const RunOptions& options) {
  MILLRACE_TRY(RunDescription description,
               options.branch ? describeBranch(files, project, *options.branch)
                              : describeRun(files, project, project.name.empty() ? "project" : project.name));
  if (options.replaceExisting && options.branch &&
      std::filesystem::weakly_canonical(options.branch->run) == std::filesystem::weakly_canonical(options.directory))
    return badInput(fmt::format("{}: a branch cannot replace the run that it begins from: give it another folder",
                                options.directory.string()));
  // Refused before there is a folder of it.
  MILLRACE_CHECK(checkDeviceSetting(project.training.device, "training.device"));
  if (options.replaceExisting) MILLRACE_CHECK(checkInputs(files, description)); // or the old run would be lost for it
  MILLRACE_TRY(OwnedRun owned, createRun(files, options.directory,
                                         options.replaceExisting ? ExistingRun::Replace : ExistingRun::Refuse));
  auto implementation =
      std::make_unique<Implementation>(files, std::move(description), std::move(owned), false, options);
  if (const Status begun = implementation->begin(); !begun) {
    implementation->owner().finish(RunState::Failed, begun.error().message);
    return tl::unexpected<Error>(begun.error());
  }
  return std::unique_ptr<Run>(new Run(std::move(implementation)));
}

Result<std::unique_ptr<Run>> Run::resume(FileSystem& files, const RunOptions& options) {
  const RunDirectory directory(options.directory);
  if (isRun(files, options.directory) && runStatus(files, directory).outcome == RunOutcome::Finished)
    return badInput(fmt::format("{}: the run has finished; to train its model further export it, and start a new run "
                                "with that folder as model.folder",
                                options.directory.string()));
  MILLRACE_CHECK(requireRun(files, directory));
  // Refused while the owner's record still says how the run ended.
  MILLRACE_TRY(RunDescription description, readRunDescription(files, directory));
  MILLRACE_TRY(OwnedRun owned, openRun(files, options.directory));
  auto implementation =
      std::make_unique<Implementation>(files, std::move(description), std::move(owned), true, options);
  if (const Status begun = implementation->begin(); !begun) {
    implementation->owner().finish(RunState::Failed, begun.error().message);
    return tl::unexpected<Error>(begun.error());
  }
  return std::unique_ptr<Run>(new Run(std::move(implementation)));
}

void Run::pause() {
  m_implementation->requests().pause();
}
void Run::resumeTraining() {
  m_implementation->requests().resume();
}
void Run::checkpointNow() {
  m_implementation->requests().checkpoint();
}
void Run::stop() {
  m_implementation->requests().stop();
}
RunState Run::state() const {
  return m_implementation->gauge().state;
}
RunOutcomeReport Run::wait() {
  return m_implementation->wait();
}

std::vector<RunEvent> Run::takeEvents() {
  return m_implementation->queue().drain().events;
}

} // namespace millrace

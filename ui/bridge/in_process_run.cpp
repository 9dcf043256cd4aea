#include "bridge/in_process_run.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "engine/runs.h"

#include <QThreadPool>

namespace millrace::ui {

InProcessRun::InProcessRun(const Project& project, const std::filesystem::path& directory,
                           const std::optional<BranchPoint>& branch, QObject* parent)
    : RunFeed(parent),
      m_project(project),
      m_branch(branch),
      m_directory(directory),
      m_wakeUp(std::make_shared<WakeUp>(this, [this] { drain(); })),
      m_open(std::make_shared<OpenRun>()) {}

InProcessRun::InProcessRun(const std::filesystem::path& directory, QObject* parent)
    : RunFeed(parent),
      m_directory(directory),
      m_wakeUp(std::make_shared<WakeUp>(this, [this] { drain(); })),
      m_open(std::make_shared<OpenRun>()) {}

InProcessRun::~InProcessRun() {
  m_wakeUp->release();
  m_open->history.close();
  if (!run()) return;
  // Its destructor saves; waiting for that is nothing for this thread. The program's end waits for the pool.
  QThreadPool::globalInstance()->start([open = std::move(m_open)]() mutable { open.reset(); });
}

void InProcessRun::open() {
  const auto work = [open = m_open, project = m_project, branch = m_branch, directory = m_directory,
                     wakeUp = m_wakeUp] { InProcessRun::open(*open, project, branch, directory, wakeUp); };
  inBackground(this, work, [this] { whenOpened(); });
}

/// What the run in the directory has done, up to a step where one is given: of a live run there is no other end.
Status InProcessRun::tellHistory(OpenRun& open, const std::filesystem::path& directory,
                                 std::optional<std::int64_t> lastStep, const std::shared_ptr<WakeUp>& wakeUp) {
  MILLRACE_TRY(const RunInfo info, runInfo(open.files, directory));
  const bool live = info.outcome == RunOutcome::Live;
  if (live && !lastStep) return {};
  MILLRACE_TRY(const std::unique_ptr<RunWatch> watch, RunWatch::open(open.files, directory));
  while (!open.history.isClosed()) {
    MILLRACE_TRY(std::optional<RunEvent> event, watch->next());
    if (!event) break;
    const auto* metrics = std::get_if<StepMetrics>(&event->body);
    const bool isLast = metrics && lastStep && metrics->step >= *lastStep;
    // Of the run that a branch leaves: its figures, not what became of it.
    const bool isTold =
        !lastStep || (event->step <= *lastStep && (metrics || std::holds_alternative<Evaluation>(event->body)));
    if (isTold && open.history.put(std::move(*event))) wakeUp->wake();
    if (live && isLast) break;
  }
  if (open.history.isClosed()) return failure(ErrorKind::Interrupted, "the window has turned away");
  return {};
}

void InProcessRun::open(OpenRun& open, const std::optional<Project>& project, const std::optional<BranchPoint>& branch,
                        const std::filesystem::path& directory, const std::shared_ptr<WakeUp>& wakeUp) {
  const auto begin = [&]() -> Result<std::unique_ptr<Run>> {
    RunOptions options;
    options.directory = directory;
    options.wake = [wakeUp] { wakeUp->wake(); };
    options.branch = branch;
    if (branch) MILLRACE_CHECK(tellHistory(open, branch->run, branch->step, wakeUp));
    if (project) return Run::start(open.files, *project, options);
    MILLRACE_CHECK(tellHistory(open, directory, {}, wakeUp)); // a live one is refused below, with the reason
    return Run::resume(open.files, options);
  };
  Result<std::unique_ptr<Run>> run = begin();
  if (run)
    open.run = std::move(*run);
  else
    open.error = run.error();
  open.resumable = !run && looksResumable(open.files, directory);
  open.hasFolder = run || open.files.isDirectory(directory);
}

void InProcessRun::whenOpened() {
  m_hasFolder = m_open->hasFolder;
  if (m_open->error) {
    drain();
    setResumable(m_open->resumable);
    setLink(FeedLink::Ended, toQt(m_open->error->message));
    return;
  }
  m_opened = true;
  setLink(FeedLink::Connected);
  drain();
  for (; m_stopsAsked > 0 && run(); --m_stopsAsked) run()->stop();
}

void InProcessRun::drain() {
  std::vector<RunEvent> events = m_open->history.take();
  bool ended = false;
  if (run()) // before that whenOpened() looks
    for (RunEvent& event : run()->takeEvents()) {
      const auto* change = std::get_if<StateChanged>(&event.body);
      ended = ended || (change && isFinal(change->state));
      events.push_back(std::move(event));
    }
  if (!events.empty()) Q_EMIT eventsArrived(events);
  if (ended) letGo();
}

void InProcessRun::letGo() {
  // Only without it may another process take the run.
  m_opened = false;
  const auto end = [open = m_open, directory = m_directory] {
    open->run.reset();
    return looksResumable(open->files, directory);
  };
  inBackground(this, end, [this](bool resumable) {
    setResumable(resumable);
    setLink(FeedLink::Ended);
  });
}

void InProcessRun::pause() {
  if (run()) run()->pause();
}

void InProcessRun::resumeTraining() {
  if (run()) run()->resumeTraining();
}

void InProcessRun::checkpointNow() {
  if (run()) run()->checkpointNow();
}

void InProcessRun::stop() {
  if (run())
    run()->stop();
  else
    ++m_stopsAsked;
}

QString InProcessRun::place() const {
  return toQt(m_directory);
}

} // namespace millrace::ui

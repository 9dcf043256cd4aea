#include "bridge/in_process_run.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "engine/runs.h"

#include <QThreadPool>

namespace millrace::ui {

InProcessRun::InProcessRun(const Project& project, const std::filesystem::path& directory, QObject* parent)
    : RunFeed(parent),
      m_project(project),
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
  const auto work = [open = m_open, project = m_project, directory = m_directory, wakeUp = m_wakeUp] {
    InProcessRun::open(*open, project, directory, wakeUp);
  };
  inBackground(this, work, [this] { whenOpened(); });
}

void InProcessRun::open(OpenRun& open, const std::optional<Project>& project, const std::filesystem::path& directory,
                        const std::shared_ptr<WakeUp>& wakeUp) {
  const auto begin = [&]() -> Result<std::unique_ptr<Run>> {
    RunOptions options;
    options.directory = directory;
    options.wake = [wakeUp] { wakeUp->wake(); };
    if (project) return Run::start(open.files, *project, options);
    MILLRACE_TRY(const RunInfo info, runInfo(open.files, directory));
    // Of a live run the history has no end; it is refused below, with the reason.
    if (info.outcome != RunOutcome::Live) {
      MILLRACE_TRY(const std::unique_ptr<RunWatch> watch, RunWatch::open(open.files, directory));
      while (!open.history.isClosed()) {
        MILLRACE_TRY(std::optional<RunEvent> event, watch->next());
        if (!event) break;
        if (open.history.put(std::move(*event))) wakeUp->wake();
      }
    }
    if (open.history.isClosed()) return failure(ErrorKind::Interrupted, "the window has turned away");
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

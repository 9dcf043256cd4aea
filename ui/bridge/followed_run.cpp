#include "bridge/followed_run.h"

#include "bridge/background.h"
#include "bridge/text.h"

#include <QThreadPool>
#include <chrono>

namespace millrace::ui {

struct FollowedRun::Reader {
  explicit Reader(FollowedRun* run) : wakeUp(run, [run] { run->drain(); }) {}

  LocalFileSystem files;
  EventBox box;
  WakeUp wakeUp;
  std::mutex mutex; ///< guards what follows
  std::unique_ptr<RunWatch> watch;
  bool stopped = false;
  bool opened = false; ///< there is a run
  bool live = false;   ///< somebody works on it
  bool killed = false; ///< and waited for, in case that somebody resumes it
  bool ended = false;
  bool folderIsGone = false;
  bool resumable = false;
  std::string reason;
};

FollowedRun::FollowedRun(const std::filesystem::path& directory, QObject* parent)
    : RunFeed(parent), m_directory(directory), m_reader(std::make_shared<Reader>(this)) {
  m_look.setInterval(std::chrono::seconds(1));
  connect(&m_look, &QTimer::timeout, this, &FollowedRun::lookForFolder);
}

FollowedRun::~FollowedRun() {
  m_reader->wakeUp.release();
  m_reader->box.close();
  {
    const std::lock_guard lock(m_reader->mutex);
    m_reader->stopped = true;
    if (m_reader->watch) m_reader->watch->stop();
  }
  // It ends by itself; a slow disk is not waited for by this thread.
  if (!m_thread.joinable()) return;
  const auto thread = std::make_shared<std::thread>(std::move(m_thread));
  QThreadPool::globalInstance()->start([thread] { thread->join(); });
}

void FollowedRun::open() {
  m_thread = std::thread([reader = m_reader, directory = m_directory] { read(reader, directory); });
  m_look.start();
}

void FollowedRun::lookForFolder() {
  const auto look = [reader = m_reader, directory = m_directory] {
    const bool gone = !reader->files.isDirectory(directory);
    const std::lock_guard lock(reader->mutex);
    return std::exchange(reader->folderIsGone, gone) != gone;
  };
  inBackground(this, look, [this](bool changed) {
    if (changed) drain();
  });
}

void FollowedRun::read(const std::shared_ptr<Reader>& reader, const std::filesystem::path& directory) {
  const auto tell = [&](const auto& change) {
    {
      const std::lock_guard lock(reader->mutex);
      change();
    }
    reader->wakeUp.wake();
  };
  const auto end = [&](const std::string& reason) {
    const bool gone = !reader->files.isDirectory(directory);
    const bool resumable = looksResumable(reader->files, directory);
    tell([&] {
      reader->ended = true;
      reader->resumable = resumable;
      reader->folderIsGone = gone;
      reader->reason = reason;
    });
  };
  WatchOptions options;
  options.patienceSeconds = 1e9; // as long as the window shows it
  options.onKilled = [&](const std::string& reason) {
    const bool gone = !reader->files.isDirectory(directory);
    const bool resumable = looksResumable(reader->files, directory);
    tell([&] {
      reader->killed = true;
      reader->resumable = resumable;
      reader->reason = reason;
      reader->folderIsGone = gone;
    });
  };
  auto watch = RunWatch::open(reader->files, directory, options);
  if (!watch) return end(watch.error().message);
  RunWatch& events = **watch;
  // The history of one that nobody works on is read to its end before anything is said of it.
  const auto info = runInfo(reader->files, directory);
  const bool live = !info || info->outcome == RunOutcome::Live;
  tell([&] {
    reader->watch = std::move(*watch);
    reader->opened = true;
    reader->live = live;
    if (reader->stopped) events.stop();
  });
  while (true) {
    auto event = events.next();
    if (!event) return end(event.error().message);
    if (!*event) return end({});
    {
      const std::lock_guard lock(reader->mutex);
      reader->live = reader->live || reader->killed; // somebody goes on with it
      reader->killed = false;
    }
    if (reader->box.put(std::move(**event))) reader->wakeUp.wake();
  }
}

void FollowedRun::drain() {
  // Before the events are taken: what came before the end is in the box by then.
  bool opened = false, live = false, killed = false, ended = false, gone = false;
  std::string reason;
  {
    const std::lock_guard lock(m_reader->mutex);
    opened = m_reader->opened;
    live = m_reader->live;
    killed = m_reader->killed;
    ended = m_reader->ended;
    gone = m_reader->folderIsGone;
    setResumable(m_reader->resumable);
    reason = m_reader->reason;
  }
  m_hasFolder = !gone;
  if (const std::vector<RunEvent> events = m_reader->box.take(); !events.empty()) Q_EMIT eventsArrived(events);
  if (gone && opened)
    setLink(FeedLink::Ended, tr("The folder of the run is gone"));
  else if (ended || killed)
    setLink(FeedLink::Ended, toQt(reason));
  else if (live)
    setLink(FeedLink::Connected);
}

void FollowedRun::request(RunRequest request) {
  const auto ask = [reader = m_reader, directory = m_directory, request]() -> QString {
    const auto answer = requestOfRun(reader->files, directory, request);
    return answer ? QString() : toQt(answer.error().message);
  };
  beginRequest();
  inBackground(this, ask, [this](const QString& problem) { endRequest(problem); });
}

QString FollowedRun::place() const {
  return toQt(m_directory);
}

} // namespace millrace::ui

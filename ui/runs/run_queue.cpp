#include "runs/run_queue.h"

#include "bridge/background.h"
#include "bridge/latest_file.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLockFile>
#include <QStandardPaths>
#include <algorithm>

namespace millrace::ui {

namespace {

constexpr qint64 largestQueue = 64 * 1024 * 1024;
/// For a window that is just being closed.
constexpr int lockPatienceMs = 2000;

} // namespace

QString queueFile() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/millrace/queue.json");
}

struct RunQueue::Opened {
  std::unique_ptr<QLockFile> lock; ///< null: another window's
  KeptQueue queue;
  QString notice;
};

RunQueue::RunQueue(const QString& file, QObject* parent) : QObject(parent), m_file(new LatestFile(file, this)) {
  connect(m_file, &LatestFile::failed, this, [this](const QString& message) {
    m_notice = tr("The queue is not kept over the end of this window: %1").arg(message);
    Q_EMIT changed();
  });
}

RunQueue::~RunQueue() = default;

void RunQueue::open() {
  if (m_lock || m_opening) return;
  m_opening = true;
  const auto work = [path = m_file->path()] {
    auto opened = std::make_shared<Opened>();
    QDir().mkpath(QFileInfo(path).path());
    auto lock = std::make_unique<QLockFile>(path + QStringLiteral(".lock"));
    lock->setStaleLockTime(0); // it goes with its process, however long that works
    if (!lock->tryLock(lockPatienceMs)) {
      opened->notice = lock->error() == QLockFile::LockFailedError
                           ? tr("Another window works on the queue. It is this window's once that one is closed.")
                           : tr("The queue cannot be kept: %1 cannot be written.").arg(path);
      return opened;
    }
    opened->lock = std::move(lock);
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return opened; // there is none yet
    QString problem;
    const auto kept = file.size() <= largestQueue ? queueFromJson(file.readAll(), problem) : std::nullopt;
    if (kept) {
      opened->queue = *kept;
      return opened;
    }
    const QString aside = path + QStringLiteral(".damaged");
    QFile::remove(aside);
    file.rename(aside);
    opened->notice = tr("The queue was damaged (%1) and begins anew; the old file is %2.").arg(problem, aside);
    return opened;
  };
  inBackground(this, work, [this](const std::shared_ptr<Opened>& opened) { take(*opened); });
}

void RunQueue::take(Opened& opened) {
  m_opening = false;
  m_lock = std::move(opened.lock);
  m_notice = opened.notice;
  m_runs = std::move(opened.queue.runs);
  for (QueuedRun& run : m_runs) run.id = ++m_lastId;
  m_stopsOnFailure = opened.queue.stopsOnFailure;
  Q_EMIT changed();
}

void RunQueue::keep() {
  m_file->write(queueToJson({m_runs, m_stopsOnFailure}));
  Q_EMIT changed();
}

QueuedRun* RunQueue::entry(qint64 id) {
  const auto found = std::find_if(m_runs.begin(), m_runs.end(), [&](const QueuedRun& run) { return run.id == id; });
  return found == m_runs.end() ? nullptr : &*found;
}

const QueuedRun* RunQueue::find(qint64 id) const {
  return const_cast<RunQueue*>(this)->entry(id);
}

const QueuedRun* RunQueue::running() const {
  return !m_runs.empty() && m_runs.front().state == QueuedRun::State::Running ? &m_runs.front() : nullptr;
}

const QueuedRun* RunQueue::next() const {
  const auto found = std::find_if(m_runs.begin(), m_runs.end(),
                                  [](const QueuedRun& run) { return run.state == QueuedRun::State::Waiting; });
  return found == m_runs.end() ? nullptr : &*found;
}

void RunQueue::setOn(bool on) {
  if (on == m_on) return;
  m_on = on;
  if (on) m_notice.clear();
  Q_EMIT changed();
}

void RunQueue::setStopsOnFailure(bool stops) {
  if (stops == m_stopsOnFailure || !isReady()) return;
  m_stopsOnFailure = stops;
  keep();
}

void RunQueue::add(QueuedRun run) {
  if (!isReady()) return;
  run.id = ++m_lastId;
  run.state = QueuedRun::State::Waiting;
  m_runs.push_back(std::move(run));
  keep();
}

void RunQueue::remove(qint64 id) {
  const QueuedRun* run = find(id);
  if (!run || run->state == QueuedRun::State::Running) return;
  std::erase_if(m_runs, [&](const QueuedRun& each) { return each.id == id; });
  keep();
}

void RunQueue::move(qint64 id, int places) {
  const QueuedRun* run = find(id);
  if (!run || run->state == QueuedRun::State::Running) return;
  const std::ptrdiff_t first = running() ? 1 : 0;
  const std::ptrdiff_t from = run - m_runs.data();
  const std::ptrdiff_t to = std::clamp<std::ptrdiff_t>(from + places, first, std::ssize(m_runs) - 1);
  if (to == from) return;
  const auto at = [&](std::ptrdiff_t place) { return m_runs.begin() + place; };
  if (to < from)
    std::rotate(at(to), at(from), at(from + 1));
  else
    std::rotate(at(from), at(from + 1), at(to + 1));
  keep();
}

void RunQueue::retry(qint64 id) {
  QueuedRun* run = entry(id);
  if (!run || run->state != QueuedRun::State::Failed) return;
  run->state = QueuedRun::State::Waiting;
  run->message.clear();
  keep();
}

void RunQueue::setRunning(qint64 id, const QString& runDirectory) {
  QueuedRun* run = entry(id);
  if (!run) return;
  run->state = QueuedRun::State::Running;
  run->run = runDirectory;
  std::rotate(m_runs.begin(), m_runs.begin() + (run - m_runs.data()), m_runs.begin() + (run - m_runs.data()) + 1);
  keep();
}

void RunQueue::setDone(qint64 id) {
  if (std::erase_if(m_runs, [&](const QueuedRun& run) { return run.id == id; }) > 0) keep();
}

void RunQueue::setFailed(qint64 id, const QString& reason) {
  QueuedRun* run = entry(id);
  if (!run) return;
  run->state = QueuedRun::State::Failed;
  run->message = reason;
  // What trained already is gone on with from its checkpoint when it is tried again.
  if (!run->run.isEmpty()) run->kind = QueuedRun::Kind::Resume;
  if (m_stopsOnFailure && m_on) {
    m_on = false;
    m_notice =
        tr("%1 failed, and the queue stands still: try it again or remove it, then start the queue.").arg(run->title);
  } else {
    m_notice = tr("%1 failed; the queue went on without it.").arg(run->title);
  }
  keep();
}

} // namespace millrace::ui

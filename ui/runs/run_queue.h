// RunQueue: runs that are to be trained one after the other, in an order that people choose. Kept in a file with every
// change, so that it outlives the window; one window at a time works on it. What starts them is the shell's. GUI
// thread; the file is read and written on the pool's.
#pragma once

#include "runs/queued_run.h"

#include <QObject>
#include <memory>

class QLockFile;

namespace millrace::ui {

class LatestFile;

/// Where the queue is kept: millrace/queue.json in XDG's folder of data.
QString queueFile();

class RunQueue final : public QObject {
  Q_OBJECT

 public:
  explicit RunQueue(const QString& file = queueFile(), QObject* parent = nullptr);
  ~RunQueue() override;

  /// Reads what was kept, once; again where another window had it. Before isReady() nothing is taken in.
  void open();
  bool isReady() const { return m_lock != nullptr; }

  /// In the order in which they are begun; what runs is first.
  const std::vector<QueuedRun>& runs() const { return m_runs; }
  const QueuedRun* find(qint64 id) const;
  const QueuedRun* running() const;
  /// The first that waits.
  const QueuedRun* next() const;

  /// Whether the next one is begun when none is at work. Off in a new window: nobody sits there who expects it.
  bool isOn() const { return m_on; }
  void setOn(bool on);
  /// Whether a failure turns it off.
  bool stopsOnFailure() const { return m_stopsOnFailure; }
  void setStopsOnFailure(bool stops);
  /// What a person should know; empty: nothing.
  const QString& notice() const { return m_notice; }

  /// At the end; its id is given.
  void add(QueuedRun run);
  /// Nothing that runs.
  void remove(qint64 id);
  /// By so many places among those that do not run, as far as there are.
  void move(qint64 id, int places);
  /// One that failed waits again.
  void retry(qint64 id);

  /// What starts it says how it goes. run: its directory, once that is known.
  void setRunning(qint64 id, const QString& run);
  void setDone(qint64 id);
  /// It stays, with the reason in sight.
  void setFailed(qint64 id, const QString& reason);

 Q_SIGNALS:
  void changed();

 private:
  struct Opened;

  void take(Opened& opened);
  QueuedRun* entry(qint64 id);
  void keep();

  LatestFile* m_file;
  std::unique_ptr<QLockFile> m_lock; ///< null: not read yet, or another window's
  std::vector<QueuedRun> m_runs;
  qint64 m_lastId = 0;
  bool m_on = false;
  bool m_stopsOnFailure = true;
  bool m_opening = false;
  QString m_notice;
};

} // namespace millrace::ui

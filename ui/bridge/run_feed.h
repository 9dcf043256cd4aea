// RunFeed: one training run as the window knows it, wherever it is carried out. Its subclasses are the only place where
// events cross from other threads and processes to the GUI thread; the window owns one per run that is shown.
#pragma once

#include "engine/run_event.h"

#include <QObject>
#include <QString>
#include <filesystem>
#include <optional>
#include <vector>

namespace millrace {
class FileSystem;
}

namespace millrace::ui {

/// How the window hears of a run.
enum class FeedLink {
  Opening,      ///< nothing has been heard yet
  Connected,    ///< what happens is told as it happens
  Reconnecting, ///< was heard, is not now; it is being tried again
  Ended,        ///< nobody works on it; a followed run is Connected again should somebody go on with it
};

/// All members on the GUI thread. Requests only ask: events tell what came of them, requestFailed() what went wrong.
class RunFeed : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Begins to tell; once.
  virtual void open() = 0;
  virtual void pause() = 0;
  virtual void resumeTraining() = 0;
  virtual void checkpointNow() = 0;
  /// Saves and stops. Asked again while it saves: gives the save up.
  virtual void stop() = 0;
  /// Tries at once what would be tried later, where the link is down.
  virtual void reconnect() {}

  /// The run directory, or the ssh:// address.
  virtual QString place() const = 0;
  /// Whether the run ends when this process does.
  virtual bool inProcess() const { return false; }
  /// Whether the run's files can be opened from here.
  virtual bool isLocal() const { return true; }
  /// Whether there is a folder of the run, as far as is known: not before a run has one, nor when it was removed.
  virtual bool hasFolder() const { return isLocal(); }
  /// The machine that is asked; empty: this one.
  virtual QString host() const { return {}; }

  FeedLink link() const { return m_link; }
  /// Why the link is as it is; of Ended, why a run could not be opened. Empty: nothing to say.
  QString linkReason() const { return m_linkReason; }
  /// Whether its files could be gone on with: it ended before its end and left a checkpoint or steps. Known once the
  /// link is Ended.
  bool canBeResumed() const { return m_resumable; }
  /// A request was made that nobody has answered yet.
  bool isAsking() const { return m_requests > 0; }

 Q_SIGNALS:
  /// In order of time. Steps that a resumed run repeats come again.
  void eventsArrived(const std::vector<millrace::RunEvent>& events);
  void linkChanged();
  void requestFailed(const QString& message);
  void askingChanged();

 protected:
  void setLink(FeedLink link, const QString& reason = {});
  /// Before the link is Ended.
  void setResumable(bool resumable) { m_resumable = resumable; }
  /// What canBeResumed() is to tell of the run in a directory, by what is on the disk: any thread but the GUI's.
  static bool looksResumable(FileSystem& files, const std::filesystem::path& directory);
  void beginRequest();
  /// problem: why it came to nothing.
  void endRequest(const QString& problem = {});

 private:
  FeedLink m_link = FeedLink::Opening;
  QString m_linkReason;
  bool m_resumable = false;
  int m_requests = 0; ///< that wait for an answer
};

} // namespace millrace::ui

// RemoteRun: a run on another machine, followed through the user's own ssh: `millrace watch --json` there tells it,
// `millrace ctl` steers it. A connection that drops is made again, from the last step that was heard.
#pragma once

#include "bridge/remote_place.h"
#include "bridge/run_feed.h"

#include <QProcess>
#include <QTimer>

namespace millrace::ui {

/// What is called on either side.
struct RemotePrograms {
  QString ssh = QStringLiteral("ssh");
  QString millrace = QStringLiteral("millrace"); ///< there, on the PATH of a login without terminal, or a path
};

class RemoteRun final : public RunFeed {
  Q_OBJECT

 public:
  RemoteRun(RemotePlace place, RemotePrograms programs, QObject* parent = nullptr);
  /// The run goes on.
  ~RemoteRun() override;

  void open() override;
  void pause() override { request(QStringLiteral("pause")); }
  void resumeTraining() override { request(QStringLiteral("resume")); }
  void checkpointNow() override { request(QStringLiteral("checkpoint")); }
  void stop() override { request(QStringLiteral("stop")); }
  void reconnect() override;
  QString place() const override { return m_place.address(); }
  bool isLocal() const override { return false; }
  QString host() const override { return m_place.host; }

 private:
  void connectNow();
  void read();
  void disconnected();
  void retryLater(const QString& reason);
  void takeDamage(const QByteArray& line);
  QString notARun() const;
  void request(const QString& word);
  void take(const QByteArray& line, std::vector<RunEvent>& events);

  const RemotePlace m_place;
  const RemotePrograms m_programs;
  QProcess m_watch;
  QTimer m_retry;
  int m_attempts = 0; ///< in a row that heard nothing
  QByteArray m_partial;
  QString m_damage;       ///< the first line of this link that was no event
  int m_damagedLines = 0; ///< of this link, in a row before the first event
  std::int64_t m_lastStep = -1;
  QByteArrayList m_ofLastStep; ///< lines that were told already: they come again when the link is made anew
  bool m_heardThisTime = false;
  bool m_final = false; ///< the run has said that it ended
};

} // namespace millrace::ui

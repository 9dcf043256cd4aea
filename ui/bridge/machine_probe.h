// Measures this machine without holding up the window, and keeps what was measured for the planner. Owned by whoever
// shows how far it is; GUI thread, with the work on a thread of the pool. One measurement at a time.
#pragma once

#include "bridge/wake_up.h"
#include "engine/probe.h"

#include <QObject>
#include <memory>

namespace millrace::ui {

class MachineProbe : public QObject {
  Q_OBJECT
 public:
  explicit MachineProbe(QObject* parent = nullptr);
  /// Gives up what is being measured.
  ~MachineProbe() override;

  /// For each figure about so long; for tests.
  void setSeconds(double seconds) { m_seconds = seconds; }

  /// device: "cpu", "cuda:0". disk: a folder on the disk to measure; empty: none.
  void start(const std::string& device, const Path& disk);
  /// failed() follows when the part that is being measured is done, unless all is done by then.
  void cancel();
  bool isRunning() const { return m_running; }

 Q_SIGNALS:
  void progressed(const QString& part, int done, int parts);
  /// The figures are kept. notice: what else a person should know.
  void finished(const millrace::ProbeReport& report, const QString& notice);
  void failed(const QString& message, bool cancelled);

 private:
  struct Shared;

  void tellProgress();

  std::shared_ptr<WakeUp> m_wakeUp;
  std::shared_ptr<Shared> m_shared;
  double m_seconds = 1;
  bool m_running = false;
};

} // namespace millrace::ui

// "Measure this machine": what is measured, how far it is, what came of it. Owns the measurement. GUI thread.
#pragma once

#include "bridge/live_runs.h"
#include "bridge/machine_look.h"
#include "bridge/machine_probe.h"

#include <QWidget>

class QComboBox;
class QProgressBar;
class QPushButton;

namespace millrace::ui {

class StatusLine;

class MeasurePanel final : public QWidget {
  Q_OBJECT

 public:
  explicit MeasurePanel(QWidget* parent = nullptr);

  /// Devices and disks to choose from; what was chosen stays, and what was not measured is told.
  void setLook(const MachineLook& look);
  /// Figures beside a run are too low.
  void setLiveRuns(const std::vector<LiveRun>& runs);
  MachineProbe& probe() { return m_probe; }

 Q_SIGNALS:
  /// New figures are kept.
  void measured();

 private:
  void begin();
  void cancel();
  void chooseFolder();
  void showProgress(const QString& part, int done, int parts);
  void showDone(const ProbeReport& report, const QString& notice);
  void showNotice();
  void updateButtons();

  MachineProbe m_probe;
  MachineLook m_look;
  bool m_cancelling = false;
  bool m_told = false; ///< what came of a measurement stands there
  QComboBox* m_device;
  QComboBox* m_disk;
  QPushButton* m_folder;
  QPushButton* m_begin;
  QPushButton* m_cancel;
  QProgressBar* m_progress;
  StatusLine* m_message;
  StatusLine* m_live;
};

} // namespace millrace::ui

// Which model is asked: chosen, loaded with progress, and let go again. What a load would take from runs that train now
// is told before. GUI thread; the model outlives the panel.
#pragma once

#include "bridge/live_runs.h"
#include "bridge/machine_look.h"
#include "bridge/text_model.h"

#include <QWidget>

class QComboBox;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTimer;

namespace millrace::ui {

class StatusLine;

class ModelPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ModelPanel(TextModel& model, QWidget* parent = nullptr);

  /// Runs, checkpoints and model folders that are near at hand; what is typed stays.
  void setPlaces(const QStringList& places);
  /// The CPU first; a GPU is what "automatic" takes where there is one.
  void setDevices(const std::vector<ComputeDevice>& devices);
  void setLiveRuns(const std::vector<LiveRun>& runs);
  void choose(const QString& place);

 Q_SIGNALS:
  void aboutToLoad();

 private:
  void load();
  void lookAtPlace();
  void browse();
  bool usesGpu() const;
  void showLiveRuns();
  /// What can be pressed.
  void showState();
  /// That, and what became of the model.
  void showModel();

  TextModel& m_model;
  QComboBox* m_place;
  QPushButton* m_browse;
  QComboBox* m_checkpoint;
  QComboBox* m_device;
  QComboBox* m_precision;
  QSpinBox* m_context;
  QPushButton* m_load;
  QPushButton* m_stop;
  QPushButton* m_unload;
  QProgressBar* m_progress;
  StatusLine* m_message;
  StatusLine* m_live;
  QTimer* m_typed; ///< a moment after the place was changed
  std::vector<LiveRun> m_liveRuns;
  QString m_lookedAt; ///< the place that the checkpoints are of
};

} // namespace millrace::ui

// RunSession: one run as the Train page shows it: its state, its figures, its texts, gathered from a RunFeed. GUI
// thread; the page binds to it, and it outlives neither its feed nor the window.
#pragma once

#include "bridge/run_feed.h"
#include "models/log_model.h"
#include "models/run_tables.h"
#include "models/sample_model.h"
#include "train/pace.h"

#include <functional>
#include <memory>
#include <optional>

namespace millrace::ui {

class RunSession final : public QObject {
  Q_OBJECT

 public:
  /// name: for people, until the run's own is known. cacheFolder: of the charts' points.
  RunSession(std::unique_ptr<RunFeed> feed, const QString& name, const QString& cacheFolder, QObject* parent = nullptr);
  ~RunSession() override;

  /// Once everything is connected.
  void open();

  RunFeed& feed() { return *m_feed; }
  const RunFeed& feed() const { return *m_feed; }
  QString name() const { return m_name; }

  RunState state() const { return m_state; }
  /// Why paused, failed or interrupted.
  QString stateReason() const { return m_stateReason; }
  /// Somebody works on the run, as far as is known.
  bool isLive() const;
  /// It has been asked to stop and has not ended.
  bool isStopping() const { return m_stopping && isLive(); }
  /// Whether anything has come from it yet.
  bool wasHeard() const { return m_wasHeard; }
  /// Whether it could be gone on with from its files.
  bool canBeResumed() const;

  const std::optional<StepMetrics>& last() const { return m_tables.last(); }
  /// Whether a driver has told of a GPU in any step.
  bool hasGpu() const { return m_hasGpu; }
  std::optional<double> progress() const;    ///< 0 to 1; nothing while the length is not known
  std::optional<double> secondsLeft() const; ///< nothing before there is a pace, or while the run stands still
  /// For how long nothing was heard of a run from which news is due: its pace says nothing any more.
  std::optional<double> secondsSilent() const;
  std::int64_t stepOfCheckpoint() const { return m_checkpointStep; } ///< -1: none yet
  QString checkpointPath() const { return m_checkpointPath; }
  const std::optional<Evaluation>& evaluation() const { return m_evaluation; }
  const std::vector<Alert>& alerts() const { return m_alerts; }
  void dismissAlerts();

  std::shared_ptr<MetricTable> steps() const { return m_tables.steps(); }
  std::shared_ptr<MetricTable> evaluations() const { return m_tables.evaluations(); }
  LogModel& log() { return m_log; }
  SampleModel& samples() { return m_samples; }

  void pause();
  void resumeTraining();
  void checkpointNow();
  void stopAndSave();
  void reconnect() { m_feed->reconnect(); }
  /// Ends it without saving: the last checkpoint stands.
  void discard();

  /// Seconds of a clock that never goes back; for tests.
  void setClock(std::function<double()> clock);

 Q_SIGNALS:
  void stateChanged(); ///< state, link, or what was asked
  void stepped();      ///< last(), tables
  void alertsChanged();
  void requestFailed(const QString& message);

 private:
  void take(const std::vector<RunEvent>& events);
  void takeStep(const StepMetrics& metrics);
  void takeState(const RunEvent& event, const StateChanged& change);
  void addLine(double time, Severity severity, const QString& message);
  void flush();

  const std::unique_ptr<RunFeed> m_feed;
  const QString m_name;
  RunState m_state = RunState::Preparing;
  QString m_stateReason;
  bool m_stopping = false;
  bool m_hasGpu = false;
  std::optional<Evaluation> m_evaluation;
  std::int64_t m_checkpointStep = -1;
  QString m_checkpointPath;
  std::vector<Alert> m_alerts;
  Pace m_pace;
  std::function<double()> m_clock;
  bool m_wasHeard = false;
  double m_heard = 0; ///< when the last event came, by the clock
  RunTables m_tables;
  std::vector<LogModel::Line> m_newLines;
  LogModel m_log;
  SampleModel m_samples;
};

} // namespace millrace::ui

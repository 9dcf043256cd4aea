// The Hardware page: what the machine has and where, what it does now, and how fast it was measured to be. The machine
// is looked at when the page is shown, and its meters run while it is. GUI thread.
#pragma once

#include "bridge/live_runs.h"
#include "bridge/machine_look.h"
#include "bridge/machine_meter.h"

#include <QWidget>

class QLabel;
class QPushButton;
class QSplitter;
class QTableView;
class QTreeView;

namespace millrace::ui {

class ElidedLabel;
class MeasurePanel;
class MeterBoard;
class RateModel;
class StatusLine;
class TopologyModel;

class HardwarePage final : public QWidget {
  Q_OBJECT

 public:
  explicit HardwarePage(MachineFunction lookFunction = &lookAtMachine, LoadSource load = thisMachinesLoad(),
                        LiveRunsFunction runs = &liveRuns, QWidget* parent = nullptr);

  /// Where the project's state may live besides where runs go: looked at from the next look on.
  void setDirectories(std::vector<std::filesystem::path> directories) { m_directories = std::move(directories); }

 Q_SIGNALS:
  /// Plans are predicted from other figures now.
  void measured();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void look();
  void showLook(const MachineLook& look);
  QWidget* makeTables();

  const MachineFunction m_lookFunction;
  const LiveRunsFunction m_runsFunction;
  std::vector<std::filesystem::path> m_directories;
  MachineMeter m_meter;
  quint64 m_looks = 0; ///< begun; the newest one counts
  std::optional<MachineLook> m_look;
  ElidedLabel* m_name;
  QPushButton* m_again;
  QLabel* m_facts;
  StatusLine* m_notices;
  MeterBoard* m_board;
  MeasurePanel* m_measure;
  TopologyModel* m_topology;
  RateModel* m_rates;
  QTreeView* m_tree;
  QTableView* m_table;
  QLabel* m_ratesSummary;
  QSplitter* m_splitter;
};

} // namespace millrace::ui

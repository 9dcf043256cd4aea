// OverlayCharts: loss, validation loss, throughput and gradient norm of several runs, one line a run, over steps,
// tokens or time. The first of them keeps the first colour: that is where the baseline stands. GUI thread.
#pragma once

#include "charts/chart_group.h"

#include <QWidget>
#include <memory>
#include <vector>

class QComboBox;
class QGridLayout;
class QLabel;

namespace millrace::ui {

class OverlaidRun;
class SmoothingSlider;

class OverlayCharts final : public QWidget {
  Q_OBJECT

 public:
  /// More lines than there are colours tell nobody anything.
  static constexpr int mostRuns = 10;

  /// cacheFolder: of the charts' points.
  explicit OverlayCharts(QString cacheFolder, QWidget* parent = nullptr);
  ~OverlayCharts() override;

  struct Line {
    QString path;
    QString name;
    bool operator==(const Line&) const = default;
  };
  /// What is shown already stays as it is. Of more than mostRuns the first are shown, and that is said.
  void show(const std::vector<Line>& runs);
  const std::vector<LiveChart*>& charts() const { return m_group.charts(); }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  LiveChart* addChart(const QString& quantity, const QString& unit, const QString& name);
  void arrange();
  void draw();

  const QString m_cacheFolder;
  std::vector<std::unique_ptr<OverlaidRun>> m_runs;
  ChartGroup m_group;
  QComboBox* m_xAxis;
  SmoothingSlider* m_smoothing;
  QLabel* m_leftOut;
  QGridLayout* m_grid;
  int m_columns = 0;
  LiveChart* m_loss;
  LiveChart* m_validation;
  LiveChart* m_tokens;
  LiveChart* m_gradNorm;
};

} // namespace millrace::ui

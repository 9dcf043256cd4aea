// ChartsPanel: the charts of a run, in step with each other: loss, learning rate, gradient norm, tokens a second, link
// utilisation, memory planned and used, stalls by cause.
#pragma once

#include "charts/chart_group.h"

#include <QPointer>
#include <QWidget>

class QComboBox;
class QGridLayout;

namespace millrace::ui {

class RunSession;
class SmoothingSlider;

class ChartsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ChartsPanel(QWidget* parent = nullptr);
  ~ChartsPanel() override;

  /// May be null. Must outlive its being shown.
  void show(RunSession* session);
  const std::vector<LiveChart*>& charts() const { return m_group.charts(); }

 Q_SIGNALS:
  void exportFailed(const QString& message);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  enum class Export { Png, Svg, Csv };

  LiveChart* addChart(const QString& quantity, const QString& unit, const QString& name);
  void arrange();
  void showGpu();
  void setSmoothing(double weight);
  void chooseExport(Export format);
  LiveChart* currentChart() const;

  QPointer<RunSession> m_session;
  ChartGroup m_group;
  QGridLayout* m_grid;
  int m_columns = 0;
  QComboBox* m_xAxis;
  SmoothingSlider* m_smoothing;
  LiveChart* m_loss;
  LiveChart* m_tokens;
  LiveChart* m_gradNorm;
  LiveChart* m_learningRate;
  LiveChart* m_link;
  LiveChart* m_memory;
  LiveChart* m_stalls;
  LiveChart* m_gpu;               ///< shown where a driver tells of one
  LiveChart* m_current = nullptr; ///< the one that was used last
};

} // namespace millrace::ui

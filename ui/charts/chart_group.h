// Charts in step: one range of x, one crosshair, one kind of x axis, one smoothing. Owns no charts; those that are
// destroyed leave. GUI thread.
#pragma once

#include "charts/live_chart.h"

namespace millrace::ui {

class ChartGroup final : public QObject {
  Q_OBJECT

 public:
  explicit ChartGroup(QObject* parent = nullptr) : QObject(parent) {}
  ~ChartGroup() override;

  void add(LiveChart* chart);
  const std::vector<LiveChart*>& charts() const { return m_charts; }

  XAxisKind xAxisKind() const { return m_kind; }
  void setXAxisKind(XAxisKind kind);
  double smoothing() const { return m_smoothing; }
  void setSmoothing(double weight);
  /// x of all, and y of each.
  void fit();

 private:
  std::optional<Range> extent() const;
  void followView(LiveChart* of);
  void showCursor(const LiveChart* of, std::optional<double> x);
  void remove(QObject* chart);
  void shareTime();

  std::vector<LiveChart*> m_charts;
  XAxisKind m_kind = XAxisKind::Step;
  double m_smoothing = 0;
};

} // namespace millrace::ui

// What mouse and keys do in a chart. Its chart's event filter; owned by the chart.
#pragma once

#include <QObject>
#include <QPointF>

class QKeyEvent;
class QMouseEvent;
class QWheelEvent;

namespace millrace::ui {

class LiveChart;

class ChartInput final : public QObject {
 public:
  explicit ChartInput(LiveChart& chart);

  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  enum class Drag { None, Band, Pan };

  bool press(const QMouseEvent& event);
  bool move(const QMouseEvent& event);
  bool release(const QMouseEvent& event);
  bool wheel(const QWheelEvent& event);
  bool key(const QKeyEvent& event);
  bool cursorKey(const QKeyEvent& event);
  void dropCursor();

  LiveChart& m_chart;
  Drag m_drag = Drag::None;
  QPointF m_from;
  QPointF m_last;
};

} // namespace millrace::ui

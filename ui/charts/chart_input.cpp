#include "charts/chart_input.h"

#include "charts/live_chart.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr double keyZoom = 1.5;
constexpr double keyPan = 0.2;
/// A notch of the wheel is 120.
double wheelZoom(double angle) {
  return std::pow(1.25, -angle / 120);
}

} // namespace

ChartInput::ChartInput(LiveChart& chart) : m_chart(chart) {}

bool ChartInput::eventFilter(QObject*, QEvent* event) {
  switch (event->type()) {
  case QEvent::MouseButtonPress:
    return press(*static_cast<QMouseEvent*>(event));
  case QEvent::MouseMove:
    return move(*static_cast<QMouseEvent*>(event));
  case QEvent::MouseButtonRelease:
    return release(*static_cast<QMouseEvent*>(event));
  case QEvent::MouseButtonDblClick:
    if (static_cast<QMouseEvent*>(event)->button() != Qt::LeftButton) return false;
    m_drag = Drag::None;
    m_chart.fit();
    return true;
  case QEvent::Wheel:
    return wheel(*static_cast<QWheelEvent*>(event));
  case QEvent::KeyPress:
    return key(*static_cast<QKeyEvent*>(event));
  case QEvent::Leave:
  case QEvent::FocusOut:
    dropCursor();
    return false;
  default:
    return false;
  }
}

bool ChartInput::press(const QMouseEvent& event) {
  const bool pans = event.button() == Qt::MiddleButton ||
                    (event.button() == Qt::LeftButton && event.modifiers().testFlag(Qt::ShiftModifier));
  if (m_drag != Drag::None || !(pans || event.button() == Qt::LeftButton)) return false;
  if (!m_chart.plotArea().contains(event.position().toPoint())) return false;
  m_drag = pans ? Drag::Pan : Drag::Band;
  m_from = m_last = event.position();
  return false; // the press gives the focus as well
}

bool ChartInput::move(const QMouseEvent& event) {
  const QRect area = m_chart.plotArea();
  const QPointF at = event.position();
  if (m_drag == Drag::Band && std::abs(at.x() - m_from.x()) >= QApplication::startDragDistance() / 2.0) {
    m_chart.setBand(std::pair(m_from.x(), at.x()));
  } else if (m_drag == Drag::Pan && area.width() > 0 && area.height() > 0) {
    m_chart.panX((m_last.x() - at.x()) / area.width());
    if (!m_chart.followsY()) m_chart.panY((at.y() - m_last.y()) / area.height());
  }
  m_last = at;
  if (area.contains(at.toPoint())) {
    const double x = m_chart.xAt(at.x());
    m_chart.setCursor(x);
    Q_EMIT m_chart.cursorMoved(x);
  } else if (m_chart.cursor()) {
    m_chart.setCursor(std::nullopt);
    Q_EMIT m_chart.cursorLeft();
  }
  return false;
}

bool ChartInput::release(const QMouseEvent& event) {
  const Drag drag = std::exchange(m_drag, Drag::None);
  if (drag != Drag::Band) return false;
  m_chart.setBand(std::nullopt);
  const QRect area = m_chart.plotArea();
  if (std::abs(event.position().x() - m_from.x()) < QApplication::startDragDistance() / 2.0) return false;
  const auto inside = [&](double pixel) { return m_chart.xAt(std::clamp<double>(pixel, area.left(), area.right())); };
  const double from = inside(m_from.x()), to = inside(event.position().x());
  m_chart.showX({std::min(from, to), std::max(from, to)});
  return true;
}

bool ChartInput::wheel(const QWheelEvent& event) {
  const QPoint angle = event.angleDelta();
  if (!m_chart.xExtent()) return false;
  if (angle.x() != 0 && std::abs(angle.x()) > std::abs(angle.y()))
    m_chart.panX(-angle.x() / 120.0 * 0.1);
  else if (event.modifiers().testFlag(Qt::ControlModifier))
    m_chart.zoomY(wheelZoom(angle.y()), m_chart.yAt(event.position().y()));
  else
    m_chart.zoomX(wheelZoom(angle.y()), m_chart.xAt(event.position().x()));
  const_cast<QWheelEvent&>(event).accept();
  return true;
}

void ChartInput::dropCursor() {
  if (!m_chart.cursor()) return;
  Q_EMIT m_chart.cursorLeft();
  m_chart.setCursor(std::nullopt);
}

bool ChartInput::cursorKey(const QKeyEvent& event) {
  if (!event.modifiers().testFlag(Qt::ShiftModifier)) return false;
  const int rows = event.modifiers().testFlag(Qt::ControlModifier) ? 10 : 1;
  switch (event.key()) {
  case Qt::Key_Left:
    m_chart.moveCursor(-rows);
    return true;
  case Qt::Key_Right:
    m_chart.moveCursor(rows);
    return true;
  case Qt::Key_Home:
    m_chart.moveCursorToEdge(false);
    return true;
  case Qt::Key_End:
    m_chart.moveCursorToEdge(true);
    return true;
  default:
    return false;
  }
}

bool ChartInput::key(const QKeyEvent& event) {
  if (cursorKey(event)) return true;
  const QRectF area = m_chart.plotArea();
  const auto zoom = [&](double factor) {
    if (event.modifiers().testFlag(Qt::ControlModifier))
      m_chart.zoomY(factor, m_chart.yAt(area.center().y()));
    else
      m_chart.zoomX(factor, m_chart.xAt(area.center().x()));
  };
  switch (event.key()) {
  case Qt::Key_Plus:
  case Qt::Key_Equal:
    zoom(1 / keyZoom);
    return true;
  case Qt::Key_Minus:
    zoom(keyZoom);
    return true;
  case Qt::Key_Left:
    m_chart.panX(-keyPan);
    return true;
  case Qt::Key_Right:
    m_chart.panX(keyPan);
    return true;
  case Qt::Key_Up:
    m_chart.panY(keyPan);
    return true;
  case Qt::Key_Down:
    m_chart.panY(-keyPan);
    return true;
  case Qt::Key_Home:
    m_chart.fit();
    return true;
  case Qt::Key_L:
    m_chart.setLogarithmic(!m_chart.isLogarithmic());
    return true;
  case Qt::Key_Escape:
    if (m_drag == Drag::None && !m_chart.cursor()) return false;
    m_drag = Drag::None;
    m_chart.setBand(std::nullopt);
    dropCursor();
    return true;
  default:
    return false;
  }
}

} // namespace millrace::ui

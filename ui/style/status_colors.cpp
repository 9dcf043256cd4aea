#include "style/status_colors.h"

#include "style/theme.h"

#include <QPainter>
#include <QPainterPath>
#include <QPixmap>
#include <array>
#include <cmath>

namespace millrace::ui {

namespace {

double luminance(const QColor& color) {
  const auto linear = [](double part) {
    return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

/// Unit octagon or triangle, scaled to the rectangle.
QPolygonF polygon(const QRectF& frame, int corners, double turn) {
  QPolygonF points;
  for (int i = 0; i < corners; ++i) {
    const double angle = turn + 2 * M_PI * i / corners;
    points << frame.center() + QPointF(std::sin(angle) * frame.width() / 2, -std::cos(angle) * frame.height() / 2);
  }
  return points;
}

void drawSign(QPainter& painter, StatusKind status, const QRectF& frame) {
  const auto at = [&](double x, double y) {
    return QPointF(frame.left() + x * frame.width(), frame.top() + y * frame.height());
  };
  switch (status) {
  case StatusKind::Good:
    painter.drawPolyline(QPolygonF({at(0.28, 0.52), at(0.44, 0.68), at(0.72, 0.34)}));
    break;
  case StatusKind::Warning:
    painter.drawLine(at(0.5, 0.40), at(0.5, 0.62));
    painter.drawPoint(at(0.5, 0.78));
    break;
  case StatusKind::Bad:
    painter.drawLine(at(0.34, 0.34), at(0.66, 0.66));
    painter.drawLine(at(0.66, 0.34), at(0.34, 0.66));
    break;
  case StatusKind::Unknown:
    break;
  }
}

} // namespace

QColor statusColor(StatusKind status, const QPalette& palette) {
  const bool dark = isDark(palette);
  switch (status) {
  case StatusKind::Good:
    return dark ? QColor(0x7d, 0xd8, 0x8f) : QColor(0x17, 0x6b, 0x2c);
  case StatusKind::Warning:
    return dark ? QColor(0xf2, 0xc1, 0x4e) : QColor(0x7a, 0x4f, 0x00);
  case StatusKind::Bad:
    return dark ? QColor(0xff, 0x9d, 0x94) : QColor(0xa8, 0x1c, 0x1c);
  case StatusKind::Unknown:
    break;
  }
  return dark ? QColor(0xb8, 0xbe, 0xc6) : QColor(0x4c, 0x55, 0x60);
}

QColor statusFillColor(StatusKind status, const QPalette& palette) {
  const bool dark = isDark(palette);
  switch (status) {
  case StatusKind::Good:
    return dark ? QColor(0x16, 0x34, 0x1f) : QColor(0xdf, 0xf3, 0xe5);
  case StatusKind::Warning:
    return dark ? QColor(0x3d, 0x2d, 0x0b) : QColor(0xff, 0xf0, 0xd0);
  case StatusKind::Bad:
    return dark ? QColor(0x45, 0x19, 0x1a) : QColor(0xfd, 0xe4, 0xe2);
  case StatusKind::Unknown:
    break;
  }
  return palette.color(QPalette::AlternateBase);
}

QColor segmentColor(int index, const QPalette& palette) {
  // Okabe and Ito's colours, which most people tell apart, lighter or darker as the background asks for.
  static constexpr std::array<QRgb, 8> light = {0xff0072b2, 0xffc04f00, 0xff00805f, 0xffa85688,
                                                0xff8a6d00, 0xff2f7fb5, 0xff6a5acd, 0xff5c6670};
  static constexpr std::array<QRgb, 8> dark = {0xff4aa8e0, 0xffe8863a, 0xff2fbf93, 0xffd98bb8,
                                               0xffd9c03a, 0xff8ccdf0, 0xffa79bf0, 0xffa3adb8};
  const auto& colors = isDark(palette) ? dark : light;
  return QColor::fromRgb(colors[static_cast<std::size_t>(index) % colors.size()]);
}

QPixmap statusPixmap(StatusKind status, const QPalette& palette, int size, qreal devicePixelRatio) {
  QPixmap pixmap(QSize(size, size) * devicePixelRatio);
  pixmap.setDevicePixelRatio(devicePixelRatio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF frame = QRectF(0, 0, size, size).adjusted(1, 1, -1, -1);
  const QColor color = statusColor(status, palette);
  if (status == StatusKind::Unknown) {
    painter.setPen(QPen(color, size * 0.12));
    painter.drawEllipse(frame.adjusted(size * 0.08, size * 0.08, -size * 0.08, -size * 0.08));
    return pixmap;
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  if (status == StatusKind::Good)
    painter.drawEllipse(frame);
  else if (status == StatusKind::Bad)
    painter.drawPolygon(polygon(frame, 8, M_PI / 8));
  else
    painter.drawPolygon(QPolygonF({{frame.center().x(), frame.top()}, frame.bottomRight(), frame.bottomLeft()}));
  painter.setPen(QPen(palette.color(QPalette::Base), size * 0.12, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.setBrush(Qt::NoBrush);
  drawSign(painter, status, frame);
  return pixmap;
}

QIcon statusIcon(StatusKind status, const QPalette& palette) {
  QIcon icon;
  for (const int size : {16, 32, 48}) icon.addPixmap(statusPixmap(status, palette, size, 1));
  return icon;
}

double contrastRatio(const QColor& a, const QColor& b) {
  const double x = luminance(a) + 0.05;
  const double y = luminance(b) + 0.05;
  return x > y ? x / y : y / x;
}

} // namespace millrace::ui

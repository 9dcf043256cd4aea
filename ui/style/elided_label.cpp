#include "style/elided_label.h"

#include <QPainter>

namespace millrace::ui {

ElidedLabel::ElidedLabel(Qt::TextElideMode mode, QWidget* parent) : QFrame(parent), m_mode(mode) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text) {
  if (text == m_text) return;
  m_text = text;
  setToolTip(text);
  setAccessibleName(text);
  updateGeometry();
  update();
}

QSize ElidedLabel::sizeHint() const {
  const QMargins margins = contentsMargins();
  return {fontMetrics().horizontalAdvance(m_text) + margins.left() + margins.right() + 1,
          fontMetrics().height() + margins.top() + margins.bottom()};
}

QSize ElidedLabel::minimumSizeHint() const {
  return {fontMetrics().averageCharWidth() * 8, sizeHint().height()};
}

void ElidedLabel::paintEvent(QPaintEvent* event) {
  QFrame::paintEvent(event);
  QPainter painter(this);
  const QRect place = contentsRect();
  QString line = m_text;
  line.replace(u'\n', u' ');
  painter.drawText(place, static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextSingleLine,
                   fontMetrics().elidedText(line, m_mode, place.width()));
}

} // namespace millrace::ui

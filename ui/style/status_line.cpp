#include "style/status_line.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>

namespace millrace::ui {

StatusLine::StatusLine(QWidget* parent) : QWidget(parent), m_icon(new QLabel), m_text(new QLabel) {
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_icon, 0, Qt::AlignTop);
  layout->addWidget(m_text, 1);
  hide();
}

void StatusLine::tell(const QString& text, StatusKind status) {
  m_status = status;
  m_text->setText(text);
  setVisible(!text.isEmpty());
  paintStatus();
}

QString StatusLine::text() const {
  return m_text->text();
}

void StatusLine::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paintStatus();
}

void StatusLine::paintStatus() {
  const bool plain = m_status == StatusKind::Unknown;
  QPalette colors = palette();
  if (!plain) colors.setColor(QPalette::WindowText, statusColor(m_status, palette()));
  m_text->setPalette(colors);
  m_icon->setVisible(!plain);
  if (!plain) m_icon->setPixmap(statusPixmap(m_status, palette(), fontMetrics().height(), devicePixelRatioF()));
}

} // namespace millrace::ui

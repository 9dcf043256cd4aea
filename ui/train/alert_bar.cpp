#include "train/alert_bar.h"

#include "bridge/text.h"
#include "style/icons.h"
#include "style/status_colors.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace millrace::ui {

AlertBar::AlertBar(QWidget* parent)
    : QFrame(parent),
      m_icon(new QLabel),
      m_text(new QLabel),
      m_count(new QLabel),
      m_older(new QToolButton),
      m_newer(new QToolButton) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_text->setObjectName(QStringLiteral("alertText"));
  m_older->setText(tr("&Back"));
  m_older->setObjectName(QStringLiteral("olderAlert"));
  m_newer->setText(tr("&Next"));
  m_older->setToolTip(tr("The alert before this"));
  m_newer->setToolTip(tr("The alert after this"));
  auto* dismiss = new QToolButton;
  dismiss->setText(tr("Di&smiss"));
  dismiss->setObjectName(QStringLiteral("dismissAlerts"));

  auto* layout = new QHBoxLayout(this);
  layout->addWidget(m_icon);
  layout->addWidget(m_text, 1);
  layout->addWidget(m_count);
  layout->addWidget(m_older);
  layout->addWidget(m_newer);
  layout->addWidget(dismiss);
  connect(m_older, &QToolButton::clicked, this, [this] { show(m_shown - 1); });
  connect(m_newer, &QToolButton::clicked, this, [this] { show(m_shown + 1); });
  connect(dismiss, &QToolButton::clicked, this, &AlertBar::dismissed);
  paintStatus();
  setVisible(false);
}

void AlertBar::setAlerts(const std::vector<Alert>& alerts) {
  m_alerts = alerts;
  setVisible(!alerts.empty());
  if (!alerts.empty()) show(alerts.size() - 1);
}

void AlertBar::show(std::size_t which) {
  m_shown = which;
  const Alert& alert = m_alerts[which];
  m_text->setText(alert.advice.empty() ? toQt(alert.message)
                                       : tr("%1\nWhat to do: %2").arg(toQt(alert.message), toQt(alert.advice)));
  const bool several = m_alerts.size() > 1;
  m_count->setVisible(several);
  m_older->setVisible(several);
  m_newer->setVisible(several);
  m_count->setText(tr("%1 of %2").arg(which + 1).arg(m_alerts.size()));
  m_older->setEnabled(which > 0);
  m_newer->setEnabled(which + 1 < m_alerts.size());
}

void AlertBar::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  // Its own colour follows the theme; setting it sends the same event again, with nothing left to change.
  if (event->type() == QEvent::PaletteChange) paintStatus();
}

void AlertBar::paintStatus() {
  const QPalette theme = QPalette();
  const QColor fill = statusFillColor(StatusKind::Warning, theme);
  if (palette().color(QPalette::Window) == fill) return;
  QPalette colors = theme;
  colors.setColor(QPalette::Window, fill);
  setPalette(colors);
  const int side = fontMetrics().height() + 6;
  m_icon->setPixmap(icon(QStringLiteral("warning")).pixmap(QSize(side, side), devicePixelRatioF()));
}

} // namespace millrace::ui

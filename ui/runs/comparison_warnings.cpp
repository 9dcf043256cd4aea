#include "runs/comparison_warnings.h"

#include "style/icons.h"
#include "style/status_colors.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>

namespace millrace::ui {

namespace {

/// More of them repeat themselves, and would leave no room for what they are about.
constexpr qsizetype mostShown = 3;

} // namespace

ComparisonWarnings::ComparisonWarnings(QWidget* parent) : QFrame(parent), m_icon(new QLabel), m_text(new QLabel) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  m_text->setObjectName(QStringLiteral("comparisonWarnings"));
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* layout = new QHBoxLayout(this);
  layout->addWidget(m_icon);
  layout->addWidget(m_text, 1);
  paintStatus();
  hide();
}

void ComparisonWarnings::show(const QStringList& warnings) {
  QStringList lines = warnings.mid(0, mostShown);
  if (warnings.size() > mostShown) lines << tr("…and %1 more of these.").arg(warnings.size() - mostShown);
  m_text->setText(lines.join(u'\n'));
  m_text->setToolTip(warnings.size() > mostShown ? warnings.join(u'\n') : QString());
  setVisible(!warnings.isEmpty());
}

void ComparisonWarnings::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paintStatus();
}

void ComparisonWarnings::paintStatus() {
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

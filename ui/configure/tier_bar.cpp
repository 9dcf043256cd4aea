#include "configure/tier_bar.h"

#include "style/numbers.h"
#include "style/status_colors.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace millrace::ui {

namespace {

constexpr int barHeight = 20;
constexpr int leastWidth = 120;
constexpr double limitWidth = 2;
/// The bar stands for at most so many times what it is about.
constexpr Bytes widestMemory = 4;

QString sizeText(Bytes bytes) {
  return TierBar::tr("%1 (%2 bytes)").arg(bytesText(bytes), countText(bytes));
}

} // namespace

TierBar::TierBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void TierBar::setTier(const PlannedTier& tier) {
  m_tier = tier;
  setAccessibleName(
      tr("%1: %2 needed of %3").arg(QString::fromStdString(tier.name), sizeText(tier.needed), sizeText(tier.limit)));
  update();
}

QSize TierBar::sizeHint() const {
  return {2 * leastWidth, barHeight};
}

QSize TierBar::minimumSizeHint() const {
  return {leastWidth, barHeight};
}

bool TierBar::showsOthers() const {
  const Bytes total = m_tier.free + m_tier.others;
  return m_tier.others > 0 && total / widestMemory <= std::max(m_tier.needed, m_tier.limit);
}

Bytes TierBar::span() const {
  const Bytes total = showsOthers() ? m_tier.free + m_tier.others : 0;
  return std::max({m_tier.needed, m_tier.limit, total, Bytes{1}});
}

double TierBar::xOf(Bytes bytes) const {
  return static_cast<double>(bytes) / static_cast<double>(span()) * width();
}

void TierBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QRectF frame = rect();
  painter.fillRect(frame, palette().base());
  if (showsOthers()) {
    const double left = xOf(span() - m_tier.others);
    painter.fillRect(QRectF(left, 0, width() - left, height()),
                     QBrush(statusColor(StatusKind::Unknown, palette()), Qt::BDiagPattern));
  }
  Bytes begin = 0;
  for (std::size_t i = 0; i < m_tier.categories.size(); ++i) {
    const Bytes end = begin + m_tier.categories[i].bytes;
    painter.fillRect(QRectF(xOf(begin), 0, xOf(end) - xOf(begin), height()),
                     segmentColor(static_cast<int>(i), palette()));
    begin = end;
  }
  if (!m_tier.fits()) { // what is too much is crossed as well as red
    const QColor bad = statusColor(StatusKind::Bad, palette());
    const QRectF excess(xOf(m_tier.limit), 0, xOf(m_tier.needed) - xOf(m_tier.limit), height());
    painter.fillRect(excess, QBrush(palette().color(QPalette::Base), Qt::DiagCrossPattern));
    painter.setPen(QPen(bad, 2));
    painter.drawRect(excess.adjusted(1, 1, -1, -1));
  }
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(frame.adjusted(0, 0, -1, -1));
  const double limit = std::clamp(xOf(m_tier.limit), limitWidth / 2, width() - limitWidth / 2);
  painter.fillRect(QRectF(limit - limitWidth / 2, 0, limitWidth, height()), palette().color(QPalette::WindowText));
}

QString TierBar::textAt(int x) const {
  Bytes begin = 0;
  for (const PlannedCategory& category : m_tier.categories) {
    const Bytes end = begin + category.bytes;
    // A thin segment is hit a little beside it, too.
    if (x >= xOf(begin) - 1 && x <= std::max(xOf(end), xOf(begin) + 2))
      return tr("%1: %2").arg(QString::fromStdString(category.name), sizeText(category.bytes));
    begin = end;
  }
  if (showsOthers() && x >= xOf(span() - m_tier.others)) return tr("Other programs: %1").arg(sizeText(m_tier.others));
  return tr("Limit: %1").arg(sizeText(m_tier.limit));
}

bool TierBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), textAt(help->pos().x()), this);
  return true;
}

} // namespace millrace::ui

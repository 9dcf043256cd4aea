#include "configure/tier_view.h"

#include "configure/plan_text.h"
#include "configure/tier_bar.h"
#include "style/elided_label.h"
#include "style/numbers.h"
#include "style/status_colors.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>

namespace millrace::ui {

namespace {

constexpr int swatchSize = 10;
constexpr double smallText = 0.9;

QLabel* makeText(QWidget* parent, bool wraps) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(wraps);
  return label;
}

} // namespace

TierView::TierView(QWidget* parent, Detail detail)
    : QWidget(parent),
      m_detail(detail),
      m_title(makeText(this, false)),
      m_amount(makeText(this, false)),
      m_shortfall(makeText(this, true)),
      m_exact(makeText(this, true)),
      m_bar(new TierBar(this)) {
  QFont bold = font();
  bold.setBold(true);
  m_title->setFont(bold);
  m_shortfall->setFont(bold);
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * smallText);
  m_exact->setFont(small);
  m_exact->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* head = new QHBoxLayout;
  head->addWidget(m_title);
  head->addStretch();
  head->addWidget(m_amount);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(3);
  layout->addLayout(head);
  layout->addWidget(m_bar);
  layout->addWidget(m_shortfall);
  layout->addWidget(m_exact);
}

void TierView::setTier(const PlannedTier& tier) {
  m_tier = tier;
  m_title->setText(tierName(tier));
  m_amount->setText(tr("%1 of %2").arg(bytesText(tier.needed), bytesText(tier.limit)));
  m_shortfall->setVisible(!tier.fits());
  m_shortfall->setText(tr("%1 too much").arg(bytesText(tier.needed - tier.limit)));
  const QString origin = QString::fromStdString(tier.limitOrigin);
  m_exact->setText(tr("%1 of %2 bytes; limit: %3").arg(countText(tier.needed), countText(tier.limit), origin));
  m_bar->setTier(tier);
  colorShortfall();
  showCategories();
}

void TierView::setEmphasised(bool emphasised) {
  m_emphasised = emphasised;
  colorShortfall();
}

void TierView::showCategories() {
  delete m_legend;
  m_legend = nullptr;
  if (m_detail == Detail::Total) return;
  m_legend = new QWidget(this);
  auto* grid = new QGridLayout(m_legend);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(1);
  grid->setColumnStretch(1, 1);
  int row = 0;
  for (const PlannedCategory& category : m_tier.categories) {
    addCategory(row, segmentColor(row, palette()), Qt::SolidPattern, QString::fromStdString(category.name),
                category.bytes);
    ++row;
  }
  if (m_tier.others > 0)
    addCategory(row, statusColor(StatusKind::Unknown, palette()), Qt::BDiagPattern, tr("other programs, now"),
                m_tier.others);
  layout()->addWidget(m_legend);
}

void TierView::addCategory(int row, const QColor& color, Qt::BrushStyle style, const QString& name, Bytes bytes) {
  auto* grid = static_cast<QGridLayout*>(m_legend->layout());
  auto* swatch = new QLabel(m_legend);
  QPixmap pixmap(QSize(swatchSize, swatchSize) * devicePixelRatioF());
  pixmap.setDevicePixelRatio(devicePixelRatioF());
  pixmap.fill(palette().color(QPalette::Base));
  QPainter(&pixmap).fillRect(QRect(0, 0, swatchSize, swatchSize), QBrush(color, style));
  swatch->setPixmap(pixmap);
  auto* label = new ElidedLabel(Qt::ElideRight, m_legend);
  label->setText(name);
  auto* amount = makeText(m_legend, false);
  amount->setText(bytesText(bytes));
  const QString exact = tr("%1: %2 bytes").arg(name, countText(bytes));
  for (QWidget* widget : {static_cast<QWidget*>(label), static_cast<QWidget*>(amount)}) widget->setToolTip(exact);
  grid->addWidget(swatch, row, 0);
  grid->addWidget(label, row, 1);
  grid->addWidget(amount, row, 2, Qt::AlignRight);
}

void TierView::colorShortfall() {
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(StatusKind::Bad, palette()));
  m_shortfall->setPalette(colors);
  m_title->setPalette(m_emphasised ? colors : palette());
}

void TierView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange || m_tier.name.empty()) return;
  colorShortfall();
  showCategories();
}

} // namespace millrace::ui

#include "configure/verdict_panel.h"

#include "configure/advice_view.h"
#include "configure/plan_text.h"
#include "configure/tier_view.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <algorithm>
#include <utility>

namespace millrace::ui {

namespace {

constexpr int iconSize = 28;
constexpr double verdictScale = 1.4;
constexpr int leastPanelWidth = 320;
constexpr std::size_t mostAdvice = 3;

QLabel* makeText(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

QString joined(const std::vector<std::string>& lines) {
  QStringList all;
  for (const std::string& line : lines) all << QString::fromStdString(line);
  return all.join(u'\n');
}

StatusKind statusOf(Verdict verdict) {
  return verdict == Verdict::Fits    ? StatusKind::Good
         : verdict == Verdict::Tight ? StatusKind::Warning
                                     : StatusKind::Bad;
}

} // namespace

VerdictPanel::VerdictPanel(QWidget* parent) : QScrollArea(parent) {
  auto* content = new QWidget;
  m_icon = new QLabel(content);
  m_verdict = makeText(content);
  QFont large = m_verdict->font();
  large.setPointSizeF(large.pointSizeF() * verdictScale);
  large.setBold(true);
  m_verdict->setFont(large);
  m_busy = new QLabel(tr("Checking..."), content);
  m_reasons = makeText(content);
  m_toProblem = new QPushButton(content);
  m_details = new QWidget(content);
  m_model = makeText(m_details);
  m_notes = makeText(m_details);
  m_times = new QWidget(m_details);
  m_timeLayout = new QGridLayout(m_times);
  m_timeLayout->setContentsMargins(0, 0, 0, 0);
  m_timeLayout->setVerticalSpacing(3);
  m_timeLayout->setColumnStretch(1, 1);

  m_tierLayout = new QVBoxLayout;
  m_tierLayout->setSpacing(12);
  m_detailLayout = new QVBoxLayout(m_details);
  m_detailLayout->setContentsMargins(0, 0, 0, 0);
  m_detailLayout->setSpacing(10);
  m_detailLayout->addWidget(m_model);
  m_detailLayout->addLayout(m_tierLayout);
  m_detailLayout->addWidget(m_times);
  m_detailLayout->addWidget(m_notes);

  auto* head = new QHBoxLayout;
  head->addWidget(m_icon, 0, Qt::AlignTop);
  head->addWidget(m_verdict, 1);
  head->addWidget(m_busy, 0, Qt::AlignTop);
  auto* layout = new QVBoxLayout(content);
  layout->setSpacing(10);
  layout->addLayout(head);
  layout->addWidget(m_reasons);
  layout->addWidget(m_toProblem, 0, Qt::AlignLeft);
  layout->addWidget(m_details);
  layout->addStretch();
  setWidget(content);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMinimumWidth(leastPanelWidth);
  setAccessibleName(tr("Does it fit?"));
  connect(m_toProblem, &QPushButton::clicked, this, [this] { Q_EMIT problemRequested(m_key); });
  showInvalid({}, {});
  setBusy(false);
}

void VerdictPanel::setVerdict(StatusKind status, const QString& text) {
  m_status = status;
  m_verdict->setText(text);
  m_icon->setPixmap(statusPixmap(status, palette(), iconSize, devicePixelRatioF()));
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(status, palette()));
  m_verdict->setPalette(colors);
}

QString VerdictPanel::verdict() const {
  return m_verdict->text();
}

void VerdictPanel::showInvalid(const QString& message, const QString& key) {
  m_key = key;
  setVerdict(StatusKind::Unknown, tr("Not valid yet"));
  m_reasons->setText(message);
  m_reasons->setVisible(!message.isEmpty());
  m_toProblem->setText(key.isEmpty() ? tr("Sho&w the JSON") : tr("Sho&w the field"));
  m_toProblem->setVisible(!message.isEmpty());
  m_details->hide();
}

void VerdictPanel::setOutdated() {
  if (m_advice) m_advice->setEnabled(false);
}

void VerdictPanel::setBusy(bool busy) {
  m_busy->setVisible(busy);
}

void VerdictPanel::showReport(const PlanReport& report, bool complete) {
  m_key.clear();
  m_toProblem->hide();
  setVerdict(statusOf(report.verdict), verdictText(report.verdict));
  m_reasons->setText(joined(report.reasons));
  m_reasons->setVisible(!report.reasons.empty());
  m_model->setText(modelText(report));
  showTiers(report);
  showTimes(report);
  showAdvice(report, complete);
  m_notes->setText(joined(report.notes));
  m_notes->setVisible(!report.notes.empty());
  m_details->show();
}

void VerdictPanel::showTiers(const PlanReport& report) {
  std::size_t shown = 0;
  for (const PlannedTier& tier : report.tiers) {
    if (tier.needed == 0 && tier.limit == 0) continue;
    if (shown == m_tiers.size()) {
      m_tiers.push_back(new TierView(m_details));
      m_tierLayout->addWidget(m_tiers.back());
    }
    m_tiers[shown]->setTier(tier);
    m_tiers[shown++]->show();
  }
  for (std::size_t i = shown; i < m_tiers.size(); ++i) m_tiers[i]->hide();
}

void VerdictPanel::showTimes(const PlanReport& report) {
  while (QLayoutItem* item = m_timeLayout->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  int row = 0;
  for (const auto& [name, value] : timeTexts(report)) {
    auto* label = new QLabel(name, m_times);
    auto* text = makeText(m_times);
    text->setText(value);
    text->setAccessibleName(tr("%1: %2").arg(name, value));
    m_timeLayout->addWidget(label, row, 0, Qt::AlignTop);
    m_timeLayout->addWidget(text, row++, 1);
  }
}

void VerdictPanel::showAdvice(const PlanReport& report, bool complete) {
  if (m_advice) m_advice->deleteLater();
  m_advice = new QWidget(m_details);
  auto* layout = new QVBoxLayout(m_advice);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  m_detailLayout->insertWidget(m_detailLayout->indexOf(m_notes), m_advice);
  if (!complete) {
    layout->addWidget(new QLabel(tr("Looking for advice..."), m_advice));
    return;
  }
  if (report.advice.empty()) {
    auto* none = makeText(m_advice);
    none->setText(report.fits() ? tr("No advice: nothing known would make it faster.")
                                : tr("No change of settings is known that would make it fit on this machine."));
    layout->addWidget(none);
    return;
  }
  layout->addWidget(makeHeading(report.fits() ? tr("Advice") : tr("What would make it fit"), m_advice));
  const std::size_t count = std::min(report.advice.size(), mostAdvice);
  bool hasKey = false; // a letter is of one button
  for (std::size_t i = 0; i < count; ++i) {
    const PlanAdvice& advice = report.advice[i];
    auto* view = new AdviceView(report, advice, m_advice);
    if (!advice.changes.empty() && !std::exchange(hasKey, true)) view->giveKey();
    layout->addWidget(view);
    connect(view, &AdviceView::applyRequested, this, &VerdictPanel::applyRequested);
  }
}

QLabel* VerdictPanel::makeHeading(const QString& text, QWidget* parent) const {
  auto* label = new QLabel(text, parent);
  QFont bold = font();
  bold.setBold(true);
  label->setFont(bold);
  return label;
}

void VerdictPanel::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && widget()) setVerdict(m_status, m_verdict->text());
}

} // namespace millrace::ui

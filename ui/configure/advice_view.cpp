#include "configure/advice_view.h"

#include "configure/plan_text.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>

namespace millrace::ui {

namespace {

constexpr double smallText = 0.9;

} // namespace

AdviceView::AdviceView(const PlanReport& report, const PlanAdvice& advice, QWidget* parent) : QWidget(parent) {
  QString sentence = QString::fromStdString(advice.text);
  if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
  auto* text = new QLabel(sentence, this);
  auto* effect = new QLabel(effectText(report, advice), this);
  for (QLabel* label : {text, effect}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
  }
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * smallText);
  effect->setFont(small);
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 0, 0, 4);
  layout->setVerticalSpacing(1);
  layout->setColumnStretch(0, 1);
  layout->addWidget(text, 0, 0);
  layout->addWidget(effect, 1, 0);
  if (advice.changes.empty()) return; // it is for the machine, not for the project
  m_apply = new QPushButton(tr("Apply"), this);
  m_apply->setToolTip(changesText(advice));
  m_apply->setAccessibleName(tr("Apply: %1").arg(sentence));
  layout->addWidget(m_apply, 0, 1, 2, 1, Qt::AlignTop);
  connect(m_apply, &QPushButton::clicked, this, [this, advice] { Q_EMIT applyRequested(advice); });
}

void AdviceView::giveKey() {
  m_apply->setText(tr("A&pply"));
}

} // namespace millrace::ui

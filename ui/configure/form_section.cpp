#include "configure/form_section.h"

#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

namespace {

constexpr double titleScale = 1.3;
constexpr int widestForm = 900;

QVBoxLayout* makeRows(QWidget* parent) {
  auto* layout = new QVBoxLayout(parent);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  return layout;
}

} // namespace

FormSection::FormSection(const QString& title, QWidget* parent) : QScrollArea(parent) {
  auto* content = new QWidget;
  content->setMaximumWidth(widestForm);
  auto* heading = new QLabel(title, content);
  QFont large = heading->font();
  large.setPointSizeF(large.pointSizeF() * titleScale);
  large.setBold(true);
  heading->setFont(large);
  auto* basic = new QWidget(content);
  m_advanced = new QWidget(content);
  m_basicLayout = makeRows(basic);
  m_advancedLayout = makeRows(m_advanced);
  m_advanced->hide();
  m_fold = new QToolButton(content);
  m_fold->setText(tr("Advanced settin&gs"));
  m_fold->setAccessibleName(tr("Advanced settings of %1").arg(title));
  m_fold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  m_fold->setArrowType(Qt::RightArrow);
  m_fold->setAutoRaise(true);
  m_fold->setCheckable(true);
  m_fold->setFocusPolicy(Qt::StrongFocus);
  m_fold->hide();

  auto* layout = new QVBoxLayout(content);
  layout->addWidget(heading);
  layout->addWidget(basic);
  layout->addWidget(m_fold);
  layout->addWidget(m_advanced);
  layout->addStretch();
  setWidget(content);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  content->setAutoFillBackground(false); // the tab's own background goes through
  viewport()->setAutoFillBackground(false);
  setAccessibleName(title);
  connect(m_fold, &QToolButton::toggled, this, [this](bool unfolded) {
    m_fold->setArrowType(unfolded ? Qt::DownArrow : Qt::RightArrow);
    m_advanced->setVisible(unfolded);
  });
}

void FormSection::addRow(FieldRow* row, bool advanced) {
  m_rows.push_back(row);
  (advanced ? m_advancedLayout : m_basicLayout)->addWidget(row);
  if (advanced) m_fold->show();
}

bool FormSection::hasProblem() const {
  return std::any_of(m_rows.begin(), m_rows.end(), [](FieldRow* row) { return !row->problem().isEmpty(); });
}

bool FormSection::isUnfolded() const {
  return m_fold->isChecked();
}

void FormSection::unfold() {
  m_fold->setChecked(true);
}

void FormSection::reveal(FieldRow* row) {
  if (m_advanced->isAncestorOf(row)) unfold();
  widget()->layout()->activate();
  ensureWidgetVisible(row);
  row->editor().setFocus(Qt::OtherFocusReason);
}

void FormSection::showProblems() {
  for (FieldRow* row : m_rows)
    if (!row->problem().isEmpty() && m_advanced->isAncestorOf(row)) unfold();
}

} // namespace millrace::ui

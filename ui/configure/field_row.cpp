#include "configure/field_row.h"

#include "style/status_colors.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QToolButton>

namespace millrace::ui {

namespace {

constexpr int labelCharacters = 20;
constexpr int iconSize = 14;
/// How far below an editor's top its text begins.
constexpr int firstLine = 4;

} // namespace

FieldRow::FieldRow(const QString& label, FieldEditor* editor, const QString& unit, const QString& help,
                   ProjectDocument& document, QWidget* parent)
    : QWidget(parent),
      m_editor(editor),
      m_label(new QLabel(label, this)),
      m_problem(new QLabel(this)),
      m_problemIcon(new QLabel(this)),
      m_reset(new QToolButton(this)) {
  m_editor->setParent(this);
  m_editor->describe(label, help);
  m_label->setBuddy(editor);
  m_label->setWordWrap(true);
  m_label->setFixedWidth(fontMetrics().averageCharWidth() * labelCharacters);
  m_label->setToolTip(help);
  m_label->setContentsMargins(0, firstLine, 0, 0);
  m_editor->setToolTip(help);
  m_problem->setWordWrap(true);
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_reset->setText(tr("Reset"));
  m_reset->setAutoRaise(true);
  m_reset->setFocusPolicy(Qt::TabFocus);
  m_reset->setAccessibleName(tr("Reset %1 to its default").arg(label));
  m_reset->setToolTip(tr("Leave it to its default"));
  QSizePolicy policy = m_reset->sizePolicy();
  policy.setRetainSizeWhenHidden(true);
  m_reset->setSizePolicy(policy);

  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  auto* middle = new QHBoxLayout;
  middle->addWidget(m_editor, 1);
  if (!unit.isEmpty()) {
    m_editor->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
    middle->addWidget(new QLabel(unit, this));
    middle->addStretch();
  }
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 3, 0, 3);
  layout->setColumnStretch(1, 1);
  layout->addWidget(m_label, 0, 0, Qt::AlignTop);
  layout->addLayout(middle, 0, 1);
  layout->addWidget(m_reset, 0, 2, Qt::AlignTop);
  auto* problem = new QHBoxLayout;
  problem->addWidget(m_problemIcon, 0, Qt::AlignTop);
  problem->addWidget(m_problem, 1);
  layout->addLayout(problem, 1, 1, 1, 2);

  connect(m_reset, &QToolButton::clicked, this, [this] {
    m_editor->setFocus();
    m_editor->reset();
  });
  connect(&document, &ProjectDocument::changed, this, &FieldRow::showReset);
  setProblem({});
  showReset();
}

QString FieldRow::label() const {
  return m_label->text();
}

std::size_t FieldRow::matchOf(const std::string& key) const {
  std::size_t best = 0;
  for (const std::string& own : m_editor->keys()) {
    const bool inside = key.starts_with(own) && (key.size() == own.size() || key[own.size()] == '.');
    if (inside) best = std::max(best, own.size());
  }
  return best;
}

void FieldRow::setProblem(const QString& message) {
  m_problem->setText(message);
  m_problem->setVisible(!message.isEmpty());
  m_problemIcon->setVisible(!message.isEmpty());
  m_problem->setAccessibleName(message.isEmpty() ? QString() : tr("%1: %2").arg(m_label->text(), message));
  colorProblem();
}

QString FieldRow::problem() const {
  return m_problem->text();
}

void FieldRow::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && !m_problem->text().isEmpty()) colorProblem();
}

void FieldRow::colorProblem() {
  if (m_problem->text().isEmpty()) return;
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(StatusKind::Bad, palette()));
  m_problem->setPalette(colors);
  m_problemIcon->setPixmap(statusPixmap(StatusKind::Bad, palette(), iconSize, devicePixelRatioF()));
}

void FieldRow::showReset() {
  m_reset->setVisible(m_editor->hasDefault() && m_editor->isSet());
}

} // namespace millrace::ui

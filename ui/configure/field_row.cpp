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
      m_sign(new QLabel(this)),
      m_reset(new QToolButton(this)) {
  m_editor->setParent(this);
  m_editor->describe(label, help);
  m_label->setBuddy(editor);
  m_label->setWordWrap(true);
  m_label->setFixedWidth(fontMetrics().averageCharWidth() * labelCharacters);
  m_label->setToolTip(help);
  m_label->setContentsMargins(0, firstLine, 0, 0);
  m_editor->setToolTip(help);
  m_sign->setFixedWidth(iconSize);
  m_sign->setContentsMargins(0, firstLine, 0, 0);
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
  layout->addWidget(m_sign, 0, 2, Qt::AlignTop);
  layout->addWidget(m_reset, 0, 3, Qt::AlignTop);

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
  m_problem = message;
  m_sign->setToolTip(message);
  m_sign->setAccessibleName(message.isEmpty() ? QString() : tr("%1: %2").arg(m_label->text(), message));
  drawSign();
}

void FieldRow::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) drawSign();
}

void FieldRow::drawSign() {
  if (m_problem.isEmpty())
    m_sign->clear();
  else
    m_sign->setPixmap(statusPixmap(StatusKind::Bad, palette(), iconSize, devicePixelRatioF()));
}

void FieldRow::showReset() {
  m_reset->setVisible(m_editor->hasDefault() && m_editor->isSet());
}

} // namespace millrace::ui

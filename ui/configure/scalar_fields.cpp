#include "configure/scalar_fields.h"

#include "configure/field_labels.h"
#include "configure/number_spin_box.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>

namespace millrace::ui {

namespace {

QHBoxLayout* rowOf(QWidget* editor, QWidget* first) {
  auto* layout = new QHBoxLayout(editor);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(first);
  editor->setFocusProxy(first);
  return layout;
}

/// What a line edit shows of a value: a wrong type is shown as JSON.
QString textOf(const Json* value) {
  if (!value) return {};
  return QString::fromStdString(value->is_string() ? value->get<std::string>() : value->dump());
}

/// Leaves cursor and selection alone where nothing changes.
void showText(QLineEdit* edit, const QString& text) {
  if (edit->text() != text) edit->setText(text);
}

} // namespace

NumberField::NumberField(const ProjectField& field, ProjectDocument& project, QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_box(new NumberSpinBox(this)) {
  m_box->setField(field);
  leaveWheelToPage(m_box);
  rowOf(this, m_box)->addStretch();
  connect(m_box, &NumberSpinBox::edited, this,
          [this, key = field.key](const Json& value) { document().setValue(key, value); });
  NumberField::refresh();
}

void NumberField::refresh() {
  m_box->showValue(document().value(keys().front()));
}

BytesField::BytesField(const ProjectField& field, ProjectDocument& project, QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_edit(new QLineEdit(this)), m_bytes(new QLabel(this)) {
  m_edit->setPlaceholderText(fallbackText(field));
  m_edit->setMaximumWidth(m_edit->fontMetrics().horizontalAdvance(QString(22, u'0')));
  QHBoxLayout* const layout = rowOf(this, m_edit);
  layout->addWidget(m_bytes);
  layout->addStretch();
  connect(m_edit, &QLineEdit::textEdited, this, [this] { document().setValue(keys().front(), value()); });
  BytesField::refresh();
}

Json BytesField::value() const {
  const QString given = m_edit->text().trimmed();
  if (given.isEmpty()) return nullptr;
  bool isNumber = false;
  const qlonglong bytes = given.toLongLong(&isNumber);
  if (isNumber) return static_cast<std::int64_t>(bytes);
  return given.toStdString();
}

void BytesField::refresh() {
  const Json* shown = document().value(keys().front());
  if (shown ? value() != *shown : !value().is_null()) showText(m_edit, textOf(shown));
  explain();
}

void BytesField::explain() {
  const auto bytes = parseBytes(m_edit->text().toStdString());
  m_bytes->setText(bytes && *bytes > 0 ? tr("%1 bytes").arg(QString::fromStdString(formatCount(*bytes))) : QString());
}

TextField::TextField(const ProjectField& field, ProjectDocument& project, QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_isName(field.key == "name") {
  if (field.words.empty()) {
    m_edit = new QLineEdit(this);
    rowOf(this, m_edit);
  } else {
    m_suggestions = new QComboBox(this);
    m_suggestions->setEditable(true);
    m_suggestions->setInsertPolicy(QComboBox::NoInsert);
    m_suggestions->setMinimumContentsLength(12); // what stands in it may be longer than what is suggested
    for (const std::string& word : field.words) m_suggestions->addItem(QString::fromStdString(word));
    m_suggestions->setCurrentIndex(-1);
    m_edit = m_suggestions->lineEdit();
    leaveWheelToPage(m_suggestions);
    rowOf(this, m_suggestions)->addStretch();
    connect(m_suggestions, &QComboBox::textActivated, this,
            [this](const QString& text) { document().setValue(keys().front(), text.toStdString()); });
  }
  if (!m_isName) m_edit->setPlaceholderText(fallbackText(field));
  connect(m_edit, &QLineEdit::textEdited, this, [this](const QString& text) {
    document().setValue(keys().front(), text.isEmpty() ? Json() : Json(text.toStdString()));
  });
  connect(&project, &ProjectDocument::titleChanged, this, &TextField::showPlaceholder);
  TextField::refresh();
}

void TextField::refresh() {
  showText(m_edit, textOf(document().value(keys().front())));
  showPlaceholder();
}

void TextField::showPlaceholder() {
  if (m_isName) m_edit->setPlaceholderText(document().name());
}

ChoiceField::ChoiceField(const ProjectField& field, ProjectDocument& project, QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_fallback(fallbackText(field)), m_box(new QComboBox(this)) {
  for (const std::string& word : field.words) m_box->addItem(QString::fromStdString(word));
  m_box->setMinimumContentsLength(14);
  leaveWheelToPage(m_box);
  rowOf(this, m_box)->addStretch();
  connect(m_box, &QComboBox::currentTextChanged, this, [this](const QString& word) {
    if (m_box->currentIndex() >= 0) document().setValue(keys().front(), word.toStdString());
  });
  ChoiceField::refresh();
}

void ChoiceField::refresh() {
  const QSignalBlocker quiet(m_box);
  const Json* shown = document().value(keys().front());
  const int index = shown ? m_box->findText(textOf(shown)) : -1;
  // What is no choice is shown all the same; the message below says that it is wrong.
  m_box->setPlaceholderText(shown && index < 0 ? textOf(shown) : m_fallback);
  m_box->setCurrentIndex(index);
}

SwitchField::SwitchField(const ProjectField& field, ProjectDocument& project, QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_fallback(field.fallback == "true"), m_box(new QCheckBox(this)) {
  rowOf(this, m_box)->addStretch();
  connect(m_box, &QCheckBox::clicked, this, [this](bool on) { document().setValue(keys().front(), on); });
  SwitchField::refresh();
}

void SwitchField::refresh() {
  const Json* shown = document().value(keys().front());
  const bool on = shown && shown->is_boolean() ? shown->get<bool>() : m_fallback;
  m_box->setChecked(on);
  const QString word = on ? tr("on") : tr("off");
  m_box->setText(shown ? word : tr("%1 by default").arg(word));
}

} // namespace millrace::ui

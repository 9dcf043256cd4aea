#include "configure/field_editor.h"

#include "configure/list_fields.h"
#include "configure/path_field.h"
#include "configure/scalar_fields.h"

#include <QEvent>
#include <algorithm>

namespace millrace::ui {

namespace {

class WheelFilter : public QObject {
 public:
  using QObject::QObject;
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::Wheel || static_cast<QWidget*>(watched)->hasFocus()) return false;
    event->ignore();
    return true;
  }
};

} // namespace

FieldEditor::FieldEditor(std::vector<std::string> keys, ProjectDocument& document, QWidget* parent)
    : QWidget(parent), m_keys(std::move(keys)), m_document(document) {
  connect(&document, &ProjectDocument::changed, this, &FieldEditor::refresh);
}

bool FieldEditor::isSet() const {
  return std::any_of(m_keys.begin(), m_keys.end(), [&](const std::string& key) { return m_document.value(key); });
}

void FieldEditor::reset() {
  for (const std::string& key : m_keys) m_document.removeValue(key);
}

void FieldEditor::describe(const QString& name, const QString& help) {
  QWidget* const target = focusProxy() ? focusProxy() : this;
  target->setAccessibleName(name);
  target->setAccessibleDescription(help);
}

FieldEditor* makeEditor(const ProjectField& field, ProjectDocument& document, const PathChooser& chooser,
                        QWidget* parent) {
  switch (field.kind) {
  case FieldKind::Integer:
  case FieldKind::Number:
    return new NumberField(field, document, parent);
  case FieldKind::Size:
    return new BytesField(field, document, parent);
  case FieldKind::Boolean:
    return new SwitchField(field, document, parent);
  case FieldKind::Choice:
    return new ChoiceField(field, document, parent);
  case FieldKind::File:
  case FieldKind::Folder:
    return new PathField(field, document, chooser, parent);
  case FieldKind::Texts:
    return new TextsField(field, document, parent);
  case FieldKind::Folders:
    return new FoldersField(field, document, chooser, parent);
  case FieldKind::Text:
  case FieldKind::Files:
  case FieldKind::Sources:
    break;
  }
  return new TextField(field, document, parent);
}

void leaveWheelToPage(QWidget* widget) {
  widget->setFocusPolicy(Qt::StrongFocus);
  widget->installEventFilter(new WheelFilter(widget));
}

} // namespace millrace::ui

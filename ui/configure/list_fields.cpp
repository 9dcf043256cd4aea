#include "configure/list_fields.h"

#include "configure/field_labels.h"
#include "configure/list_editor.h"
#include "configure/project_paths.h"

#include <QPlainTextEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace millrace::ui {

namespace {

constexpr int textLines = 3;

void place(FieldEditor* editor, ListEditor* list) {
  auto* layout = new QVBoxLayout(editor);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(list);
  editor->setFocusProxy(list);
}

} // namespace

QStringList textsOf(const Json* value) {
  QStringList texts;
  if (!value) return texts;
  if (value->is_string()) return {QString::fromStdString(value->get<std::string>())};
  if (value->is_array())
    for (const Json& element : *value)
      texts << QString::fromStdString(element.is_string() ? element.get<std::string>() : element.dump());
  return texts;
}

Json jsonOf(const QStringList& texts) {
  Json list = Json::array();
  for (const QString& text : texts) list.push_back(text.toStdString());
  return list;
}

TextsField::TextsField(const ProjectField& field, ProjectDocument& project, QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_list(new ListEditor(this)), m_text(new QPlainTextEdit(this)) {
  m_list->setEditable(false);
  place(this, m_list);
  layout()->addWidget(m_text);
  m_text->setTabChangesFocus(true);
  m_text->setPlaceholderText(tr("Text of the chosen line; it may be empty"));
  m_text->setFixedHeight(textLines * m_text->fontMetrics().lineSpacing() + 14);
  connect(m_list, &ListEditor::edited, this, [this](const QStringList& items) {
    document().setValue(keys().front(), items.isEmpty() ? Json() : jsonOf(items));
  });
  connect(m_list, &ListEditor::currentChanged, this, &TextsField::showCurrent);
  connect(m_list, &ListEditor::addRequested, this, [this] {
    m_list->append({QString()});
    m_text->setFocus();
  });
  connect(m_text, &QPlainTextEdit::textChanged, this, [this] { m_list->replaceCurrent(m_text->toPlainText()); });
  TextsField::refresh();
  showCurrent();
}

void TextsField::refresh() {
  m_list->showItems(textsOf(document().value(keys().front())));
}

void TextsField::describe(const QString& name, const QString& help) {
  m_list->describe(name, help);
  m_text->setAccessibleName(tr("Text of the current line of %1").arg(name));
}

void TextsField::showCurrent() {
  const QSignalBlocker quiet(m_text);
  const int row = m_list->currentRow();
  const QString text = row >= 0 ? m_list->items().value(row) : QString();
  if (m_text->toPlainText() != text) m_text->setPlainText(text);
  m_text->setEnabled(row >= 0);
}

FoldersField::FoldersField(const ProjectField& field, ProjectDocument& project, const PathChooser& chooser,
                           QWidget* parent)
    : FieldEditor({field.key}, project, parent), m_list(new ListEditor(this)) {
  place(this, m_list);
  connect(m_list, &ListEditor::addRequested, this, [this, chooser, title = fieldLabel(field.key)] {
    chooser(this, {PathRequest::Kind::Folder, title, document().folder(), {}}, [this](const QStringList& paths) {
      QStringList folders;
      for (const QString& path : paths) folders << storedPath(path, document().folder());
      m_list->append(folders);
    });
  });
  connect(m_list, &ListEditor::edited, this, [this](const QStringList& items) {
    document().setValue(keys().front(), items.isEmpty() ? Json() : jsonOf(items));
  });
  FoldersField::refresh();
}

void FoldersField::refresh() {
  m_list->showItems(textsOf(document().value(keys().front())));
}

void FoldersField::describe(const QString& name, const QString& help) {
  m_list->describe(name, help);
}

} // namespace millrace::ui

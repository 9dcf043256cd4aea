#include "configure/path_field.h"

#include "configure/field_labels.h"
#include "configure/project_paths.h"

#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>

namespace millrace::ui {

PathField::PathField(const ProjectField& field, ProjectDocument& project, const PathChooser& chooser, QWidget* parent)
    : FieldEditor({field.key}, project, parent),
      m_kind(field.kind),
      m_chooser(chooser),
      m_title(fieldLabel(field.key)),
      m_edit(new QLineEdit(this)),
      m_browse(new QPushButton(field.key == "data.chat.template" ? tr("Brows&e...") : tr("&Browse..."), this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_edit, 1);
  layout->addWidget(m_browse);
  setFocusProxy(m_edit);
  m_edit->setPlaceholderText(field.key == "data.cache"           ? tr("automatic")
                             : field.key == "data.chat.template" ? tr("the model's")
                                                                 : tr("none"));
  connect(m_edit, &QLineEdit::textEdited, this, [this](const QString& text) {
    document().setValue(keys().front(), text.isEmpty() ? Json() : Json(text.toStdString()));
  });
  connect(m_browse, &QPushButton::clicked, this, &PathField::browse);
  PathField::refresh();
}

void PathField::refresh() {
  const Json* shown = document().value(keys().front());
  // A config may be an object: then it is no path, and somebody else shows it.
  const QString text = shown && shown->is_string() ? QString::fromStdString(shown->get<std::string>()) : QString();
  if (m_edit->text() != text) m_edit->setText(text);
  m_edit->setToolTip(text.isEmpty() ? QString() : meantPath(text, document().folder()));
}

void PathField::describe(const QString& name, const QString& help) {
  FieldEditor::describe(name, help);
  m_browse->setAccessibleName(tr("Browse for %1").arg(name));
}

void PathField::browse() {
  PathRequest request;
  request.kind = m_kind == FieldKind::Folder ? PathRequest::Kind::Folder : PathRequest::Kind::OpenFile;
  request.title = m_title;
  request.start = meantPath(m_edit->text(), document().folder());
  if (m_kind == FieldKind::File) request.filter = tr("JSON (*.json);;All files (*)");
  m_chooser(this, request, [this](const QStringList& paths) {
    if (!paths.isEmpty())
      document().setValue(keys().front(), storedPath(paths.front(), document().folder()).toStdString());
  });
}

} // namespace millrace::ui

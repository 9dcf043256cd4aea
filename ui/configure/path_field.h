// Editors of paths: a line with a button that asks. GUI thread.
#pragma once

#include "configure/field_editor.h"

class QLineEdit;
class QPushButton;

namespace millrace::ui {

/// A file or a folder by its path, which is kept relative to the project's folder where it is inside.
class PathField : public FieldEditor {
  Q_OBJECT
 public:
  PathField(const ProjectField& field, ProjectDocument& document, const PathChooser& chooser, QWidget* parent);
  void refresh() override;
  void describe(const QString& name, const QString& help) override;

 private:
  void browse();

  FieldKind m_kind;
  PathChooser m_chooser;
  QString m_title;
  QLineEdit* m_edit;
  QPushButton* m_browse;
};

} // namespace millrace::ui

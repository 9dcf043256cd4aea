// Editors of lists: of texts and of folders. GUI thread.
#pragma once

#include "configure/field_editor.h"

class QPlainTextEdit;

namespace millrace::ui {

class ListEditor;

/// The texts of a value that is a list, or one text.
QStringList textsOf(const Json* value);
Json jsonOf(const QStringList& texts);

/// Texts that may have several lines: the current one is edited below the list.
class TextsField : public FieldEditor {
  Q_OBJECT
 public:
  TextsField(const ProjectField& field, ProjectDocument& document, QWidget* parent);
  void refresh() override;
  void describe(const QString& name, const QString& help) override;

 private:
  void showCurrent();

  ListEditor* m_list;
  QPlainTextEdit* m_text;
};

class FoldersField : public FieldEditor {
  Q_OBJECT
 public:
  FoldersField(const ProjectField& field, ProjectDocument& document, const PathChooser& chooser, QWidget* parent);
  void refresh() override;
  void describe(const QString& name, const QString& help) override;

 private:
  ListEditor* m_list;
};

} // namespace millrace::ui

// The data that a project learns from: sources, each with files of one kind. Writes no more than what was changed, and
// keeps the short forms (a path alone, an object alone) where the file uses them. GUI thread.
#pragma once

#include "configure/field_editor.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace millrace::ui {

class ListEditor;

class SourcesField : public FieldEditor {
  Q_OBJECT
 public:
  SourcesField(ProjectDocument& document, const PathChooser& chooser, QWidget* parent);
  bool hasDefault() const override { return false; }
  void refresh() override;
  void describe(const QString& name, const QString& help) override;

 private:
  /// Stored paths of files that a person chooses.
  void ask(std::function<void(const QStringList&)> chosen);
  void addSource(const QStringList& paths);
  void removeSource();
  void setPaths(const QStringList& paths);
  /// Of the current source; null removes the key.
  void setDetail(const std::string& name, const Json& value);
  void commit();
  void showCurrent();
  QString detail(const char* name) const;

  PathChooser m_chooser;
  std::vector<Json> m_sources; ///< each a text or an object
  int m_current = -1;          ///< of m_sources; -1: there is none
  QWidget* m_choice;           ///< of the source; hidden while there is but one
  QComboBox* m_source;
  QPushButton *m_add, *m_remove;
  ListEditor* m_files;
  QComboBox* m_format;
  QLineEdit *m_textField, *m_separator;
  QLabel *m_textFieldLabel, *m_separatorLabel;
};

} // namespace millrace::ui

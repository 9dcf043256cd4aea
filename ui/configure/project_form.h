// The project as a form: sections at the left, the rows of one of them at the right. Built from the engine's table of
// fields. Owned by the page; GUI thread.
#pragma once

#include "configure/form_section.h"

class QLabel;
class QListWidget;
class QStackedWidget;

namespace millrace::ui {

class ProjectForm : public QWidget {
  Q_OBJECT
 public:
  ProjectForm(ProjectDocument& document, const PathChooser& chooser, QWidget* parent);

  /// Shows a message at the field of the key, and marks its section; takes the place of the last one. Whether there is
  /// such a field. Empty message: nothing is wrong.
  bool showProblem(const QString& key, const QString& message);
  /// Opens the section of the key's field and gives it the focus.
  void reveal(const QString& key);
  /// The row that edits the key; nullptr: none.
  FieldRow* rowOf(const QString& key) const;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void addModel();
  void addTokenizer();
  void addField(FormSection& section, const ProjectField& field);
  FieldRow* addRow(FormSection& section, const QString& label, FieldEditor* editor, const QString& unit,
                   const QString& help, bool advanced);
  FormSection& sectionOf(const std::string& name);
  void markSections();
  void colorProblem();

  ProjectDocument& m_document;
  PathChooser m_chooser;
  QListWidget* m_list;
  QStackedWidget* m_pages;
  QLabel* m_problem;                                            ///< below the rows, where it moves none of them
  std::vector<std::pair<std::string, FormSection*>> m_sections; ///< by the key's first part, in the list's order
};

} // namespace millrace::ui

// One section of the form: its rows, those for specialists folded away. Owned by the form; GUI thread.
#pragma once

#include "configure/field_row.h"

#include <QScrollArea>

class QVBoxLayout;

namespace millrace::ui {

class FormSection : public QScrollArea {
  Q_OBJECT
 public:
  FormSection(const QString& title, QWidget* parent);

  /// Takes the row.
  void addRow(FieldRow* row, bool advanced);
  const std::vector<FieldRow*>& rows() const { return m_rows; }
  bool hasProblem() const;
  bool isUnfolded() const;
  void unfold();
  /// Unfolds it if it is folded away, scrolls to it and gives it the focus.
  void reveal(FieldRow* row);
  /// Unfolds what holds a problem.
  void showProblems();

 private:
  std::vector<FieldRow*> m_rows;
  QVBoxLayout *m_basicLayout, *m_advancedLayout;
  QWidget* m_advanced;
  QToolButton* m_fold;
};

} // namespace millrace::ui

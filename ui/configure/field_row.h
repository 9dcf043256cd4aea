// A line of the form: label, editor, unit, what resets it to its default, and a sign where it is wrong; what is
// wrong stands elsewhere, so that no row moves under whoever types. Owned by its
// section; GUI thread.
#pragma once

#include "configure/field_editor.h"

class QLabel;
class QToolButton;

namespace millrace::ui {

class FieldRow : public QWidget {
  Q_OBJECT
 public:
  /// help: rich text for the tool tip. The row owns the editor.
  FieldRow(const QString& label, FieldEditor* editor, const QString& unit, const QString& help,
           ProjectDocument& document, QWidget* parent);

  FieldEditor& editor() const { return *m_editor; }
  QString label() const;
  /// How many characters of the key belong to this row's keys; 0: it is another's.
  std::size_t matchOf(const std::string& key) const;
  /// Empty: nothing is wrong.
  void setProblem(const QString& message);
  QString problem() const { return m_problem; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showReset();
  void drawSign();

  FieldEditor* m_editor;
  QString m_problem;
  QLabel *m_label, *m_sign;
  QToolButton* m_reset;
};

} // namespace millrace::ui

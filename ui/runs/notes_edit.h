// NotesEdit: a text of several lines that says when somebody has finished writing: the focus leaves, or Ctrl+Return.
// Tab leaves it. GUI thread.
#pragma once

#include <QPlainTextEdit>

namespace millrace::ui {

class NotesEdit final : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit NotesEdit(QWidget* parent = nullptr);

 Q_SIGNALS:
  void editingFinished();

 protected:
  void focusOutEvent(QFocusEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
};

} // namespace millrace::ui

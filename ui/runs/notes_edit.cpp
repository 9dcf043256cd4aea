#include "runs/notes_edit.h"

#include <QKeyEvent>

namespace millrace::ui {

NotesEdit::NotesEdit(QWidget* parent) : QPlainTextEdit(parent) {
  setTabChangesFocus(true);
}

void NotesEdit::focusOutEvent(QFocusEvent* event) {
  QPlainTextEdit::focusOutEvent(event);
  if (event->reason() != Qt::PopupFocusReason) Q_EMIT editingFinished();
}

void NotesEdit::keyPressEvent(QKeyEvent* event) {
  const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (isReturn && event->modifiers().testFlag(Qt::ControlModifier)) {
    Q_EMIT editingFinished();
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
}

} // namespace millrace::ui

#include "playground/written_text.h"

#include <QScrollBar>
#include <QTextCharFormat>
#include <QTextCursor>

namespace millrace::ui {

WrittenText::WrittenText(QWidget* parent) : QPlainTextEdit(parent) {
  setReadOnly(true);
  setTabChangesFocus(true);
  setUndoRedoEnabled(false);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
}

void WrittenText::addProminent(const QString& text) {
  QTextCharFormat bold;
  bold.setFontWeight(QFont::Bold);
  insert(text, bold);
}

void WrittenText::add(const QString& text) {
  insert(text, QTextCharFormat());
}

void WrittenText::insert(const QString& text, const QTextCharFormat& format) {
  const bool atEnd = verticalScrollBar()->value() == verticalScrollBar()->maximum();
  QTextCursor cursor(document()); // not the person's own, which may mark something
  cursor.movePosition(QTextCursor::End);
  cursor.insertText(text, format);
  if (atEnd) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

} // namespace millrace::ui

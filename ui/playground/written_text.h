// WrittenText: what was said to a model and what it writes, as it comes: read-only, to be marked and copied. It follows
// the end while that is in sight, and stays where somebody reads. GUI thread.
#pragma once

#include <QPlainTextEdit>

namespace millrace::ui {

class WrittenText final : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit WrittenText(QWidget* parent = nullptr);

  /// In bold: a prompt, or who speaks.
  void addProminent(const QString& text);
  void add(const QString& text);

 private:
  void insert(const QString& text, const QTextCharFormat& format);
};

} // namespace millrace::ui

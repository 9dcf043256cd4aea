// BranchBar: what the run of the project will begin from, where that is a checkpoint of another run. GUI thread.
#pragma once

#include <QFrame>

class QLabel;

namespace millrace::ui {

class BranchBar final : public QFrame {
  Q_OBJECT

 public:
  explicit BranchBar(QWidget* parent = nullptr);

  /// Empty: it begins as it says itself, and nothing is shown.
  void setBeginning(const QString& text);

 Q_SIGNALS:
  /// It is to begin as it says itself.
  void dropped();

 private:
  QLabel* m_text;
};

} // namespace millrace::ui

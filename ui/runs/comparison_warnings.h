// ComparisonWarnings: why the losses of the runs that are compared say little about each other, in sight as long as
// they are. GUI thread.
#pragma once

#include <QFrame>

class QLabel;

namespace millrace::ui {

class ComparisonWarnings final : public QFrame {
  Q_OBJECT

 public:
  explicit ComparisonWarnings(QWidget* parent = nullptr);

  /// Sentences; none: nothing is shown.
  void show(const QStringList& warnings);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void paintStatus();

  QLabel* m_icon;
  QLabel* m_text;
};

} // namespace millrace::ui

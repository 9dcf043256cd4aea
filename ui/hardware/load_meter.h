// One live figure: what it is, how much, and a bar where there is a most. Greyed while nobody tells it. GUI thread.
#pragma once

#include <QWidget>
#include <optional>

class QLabel;
class QProgressBar;

namespace millrace::ui {

class LoadMeter final : public QWidget {
  Q_OBJECT

 public:
  explicit LoadMeter(const QString& title, QWidget* parent = nullptr);

  /// value: "97%", "41.2 of 141 GiB". share: 0 to 1; nothing: no bar.
  void showValue(const QString& value, std::optional<double> share);
  /// Nobody tells it, or no longer.
  void showNothing();

  QString value() const;
  bool isTold() const;

 private:
  QLabel* m_value;
  QProgressBar* m_bar;
  const QString m_title;
};

} // namespace millrace::ui

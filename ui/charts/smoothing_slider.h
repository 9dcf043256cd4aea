// SmoothingSlider: how much charts smooth what is noisy, with a label and what it means in steps. GUI thread.
#pragma once

#include <QWidget>

class QLabel;
class QSlider;

namespace millrace::ui {

class SmoothingSlider final : public QWidget {
  Q_OBJECT

 public:
  explicit SmoothingSlider(QWidget* parent = nullptr);

  /// As charts take it; 0: off.
  double weight() const;

 Q_SIGNALS:
  void weightChanged(double weight);

 private:
  void showText();

  QSlider* m_slider;
  QLabel* m_text;
};

} // namespace millrace::ui

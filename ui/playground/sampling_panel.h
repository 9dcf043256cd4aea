// How tokens are drawn and when a text ends. GUI thread.
#pragma once

#include "engine/generate.h"

#include <QWidget>

class QCheckBox;
class QDoubleSpinBox;
class QPlainTextEdit;
class QSpinBox;

namespace millrace::ui {

class SamplingPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SamplingPanel(QWidget* parent = nullptr);

  SamplingOptions options() const;
  /// After a text was made: where each is to have a seed of its own, the next one.
  void advanceSeed();

 private:
  QDoubleSpinBox* m_temperature;
  QSpinBox* m_topK;
  QDoubleSpinBox* m_topP;
  QSpinBox* m_tokens;
  QSpinBox* m_seed;
  QCheckBox* m_newSeed;
  QPlainTextEdit* m_stops;
};

} // namespace millrace::ui

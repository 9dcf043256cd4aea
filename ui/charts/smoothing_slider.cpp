#include "charts/smoothing_slider.h"

#include "charts/smoothed_column.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QSlider>
#include <algorithm>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr int positions = 100;
constexpr double usualWeight = 0.9;

/// The slider's steps grow finer towards 1, where a little makes much of a difference.
double weightAt(int position) {
  const double weight = 1 - std::pow(1 - SmoothedColumn::maxWeight, static_cast<double>(position) / positions);
  return std::min(weight, SmoothedColumn::maxWeight);
}

int positionOf(double weight) {
  return static_cast<int>(std::lround(positions * std::log(1 - weight) / std::log(1 - SmoothedColumn::maxWeight)));
}

} // namespace

SmoothingSlider::SmoothingSlider(QWidget* parent)
    : QWidget(parent), m_slider(new QSlider(Qt::Horizontal)), m_text(new QLabel) {
  m_slider->setObjectName(QStringLiteral("smoothing"));
  m_slider->setRange(0, positions);
  m_slider->setMaximumWidth(160);
  m_slider->setAccessibleName(tr("Smoothing"));
  auto* label = new QLabel(tr("S&moothing:"));
  label->setBuddy(m_slider);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(label);
  layout->addWidget(m_slider);
  layout->addWidget(m_text);
  m_slider->setValue(positionOf(usualWeight));
  showText();
  connect(m_slider, &QSlider::valueChanged, this, [this] {
    showText();
    Q_EMIT weightChanged(weight());
  });
}

double SmoothingSlider::weight() const {
  return weightAt(m_slider->value());
}

void SmoothingSlider::showText() {
  const auto digits = [](double value) { return QLocale().toString(value, 'g', 3); };
  m_text->setText(m_slider->value() == 0 ? tr("off") : tr("%1 steps").arg(digits(halfLife(weight()))));
  m_text->setToolTip(
      tr("Steps after which a value counts half; the weight of what came before is %1").arg(digits(weight())));
}

} // namespace millrace::ui

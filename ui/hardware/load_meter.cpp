#include "hardware/load_meter.h"

#include <QLabel>
#include <QProgressBar>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr int barParts = 1000; ///< of a bar
constexpr int barHeight = 8;
constexpr const char* longest = "1,023 MiB of 1,023 GiB"; ///< that there is room for

} // namespace

LoadMeter::LoadMeter(const QString& title, QWidget* parent)
    : QWidget(parent), m_value(new QLabel), m_bar(new QProgressBar), m_title(title) {
  auto* name = new QLabel(title);
  QFont large = font();
  large.setBold(true);
  m_value->setFont(large);
  m_value->setTextFormat(Qt::PlainText);
  m_bar->setRange(0, barParts);
  m_bar->setTextVisible(false);
  m_bar->setFixedHeight(barHeight);
  QSizePolicy keepsPlace = m_bar->sizePolicy(); // meters beside each other are aligned
  keepsPlace.setRetainSizeWhenHidden(true);
  m_bar->setSizePolicy(keepsPlace);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(name);
  layout->addWidget(m_value);
  layout->addWidget(m_bar);
  setFixedWidth(QFontMetrics(large).horizontalAdvance(QLatin1String(longest)) + 4);
  showNothing();
}

void LoadMeter::showValue(const QString& value, std::optional<double> share) {
  setEnabled(true);
  m_value->setText(value);
  m_bar->setVisible(share.has_value());
  m_bar->setValue(static_cast<int>(std::lround(barParts * std::clamp(share.value_or(0), 0.0, 1.0))));
  setAccessibleName(tr("%1: %2").arg(m_title, value));
  m_bar->setAccessibleName(accessibleName());
}

void LoadMeter::showNothing() {
  showValue(tr("not told"), 0);
  setEnabled(false);
}

QString LoadMeter::value() const {
  return m_value->text();
}

bool LoadMeter::isTold() const {
  return isEnabled();
}

} // namespace millrace::ui

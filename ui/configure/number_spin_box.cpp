#include "configure/number_spin_box.h"

#include "configure/field_labels.h"

#include <QLineEdit>
#include <algorithm>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr double exactIntegers = 9.0e15;

/// A tenth of the power of ten below the value.
double stepAt(double value, bool up) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return 0.01;
  double step = std::pow(10.0, std::floor(std::log10(magnitude)) - 1);
  // From 1.0 down the steps are those of 0.9.
  if (!up && std::fabs(magnitude - step * 10) < step / 1000) step /= 10;
  return step;
}

} // namespace

NumberSpinBox::NumberSpinBox(QWidget* parent) : QAbstractSpinBox(parent) {
  connect(lineEdit(), &QLineEdit::textEdited, this, [this] { Q_EMIT edited(value()); });
}

void NumberSpinBox::setField(const ProjectField& field) {
  m_field = field;
  const QString fallback = fallbackText(field);
  lineEdit()->setPlaceholderText(fallback.isEmpty() ? tr("automatic") : fallback);
}

void NumberSpinBox::showValue(const Json* shown) {
  const Json now = value();
  if (shown ? now == *shown : now.is_null()) return;
  if (!shown)
    lineEdit()->clear();
  else
    lineEdit()->setText(shown->is_string() ? QString::fromStdString(shown->get<std::string>())
                                           : QString::fromStdString(shown->dump()));
}

Json NumberSpinBox::value() const {
  const QString given = text().trimmed();
  if (given.isEmpty()) return nullptr;
  bool isNumber = false;
  if (m_field.kind == FieldKind::Integer) {
    QString digits = given;
    digits.remove(u',').remove(u' ');
    const qlonglong count = digits.toLongLong(&isNumber);
    if (isNumber) return static_cast<std::int64_t>(count);
    const double real = digits.toDouble(&isNumber); // 1e9
    if (isNumber && std::floor(real) == real && std::fabs(real) < exactIntegers) return static_cast<std::int64_t>(real);
    if (isNumber && std::isfinite(real)) return real;
  } else {
    const qlonglong count = given.toLongLong(&isNumber);
    if (isNumber) return static_cast<std::int64_t>(count);
    const double real = given.toDouble(&isNumber);
    if (isNumber && std::isfinite(real)) return real;
  }
  return given.toStdString();
}

Json NumberSpinBox::steppedCount(std::int64_t value, bool up) const {
  const bool doubling = m_field.unit == "tokens";
  std::int64_t next = 0;
  if (doubling) {
    next = up ? (value > m_field.most / 2 ? m_field.most : std::max<std::int64_t>(value * 2, 1)) : value / 2;
  } else {
    std::int64_t step = 1;
    while (step <= INT64_MAX / 1000 && step * 100 <= value - (up ? 0 : 1)) step *= 10;
    next = up ? (value > m_field.most - step ? m_field.most : value + step) : value - step;
  }
  return std::clamp(next, m_field.least, m_field.most);
}

Json NumberSpinBox::steppedNumber(double value, bool up) const {
  const double step = stepAt(value, up);
  const double next = std::round(value / step + (up ? 1 : -1)) * step;
  const double shortened = QString::number(next, 'g', 10).toDouble();
  return std::clamp(shortened, m_field.leastNumber, m_field.mostNumber);
}

Json NumberSpinBox::stepped(const Json& from, bool up) const {
  if (m_field.kind == FieldKind::Integer)
    return steppedCount(from.is_number() ? from.get<std::int64_t>() : m_field.least, up);
  return steppedNumber(from.is_number() ? from.get<double>() : m_field.leastNumber, up);
}

void NumberSpinBox::stepBy(int steps) {
  Json next = value();
  if (next.is_null() && !m_field.fallback.empty()) next = Json::parse(m_field.fallback);
  for (int i = 0; i < std::abs(steps); ++i) next = stepped(next, steps > 0);
  showValue(&next);
  selectAll();
  Q_EMIT edited(next);
}

QValidator::State NumberSpinBox::validate(QString& input, int&) const {
  const bool plausible = std::all_of(input.begin(), input.end(),
                                     [](QChar c) { return c.isDigit() || QStringLiteral("+-.,eE ").contains(c); });
  return plausible ? QValidator::Acceptable : QValidator::Invalid;
}

QAbstractSpinBox::StepEnabled NumberSpinBox::stepEnabled() const {
  const Json now = value();
  StepEnabled enabled = StepUpEnabled | StepDownEnabled;
  if (!now.is_number()) return enabled;
  const bool integer = m_field.kind == FieldKind::Integer; // whose limits are not all exact as numbers
  const bool atLeast = integer ? now.get<std::int64_t>() <= m_field.least : now.get<double>() <= m_field.leastNumber;
  const bool atMost = integer ? now.get<std::int64_t>() >= m_field.most : now.get<double>() >= m_field.mostNumber;
  if (atLeast) enabled &= ~StepEnabled(StepDownEnabled);
  if (atMost) enabled &= ~StepEnabled(StepUpEnabled);
  return enabled;
}

QSize NumberSpinBox::sizeHint() const {
  QSize size = QAbstractSpinBox::sizeHint();
  size.setWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000000000000000")) + 30);
  return size;
}

} // namespace millrace::ui

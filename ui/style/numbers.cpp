#include "style/numbers.h"

#include <QCoreApplication>
#include <QLocale>
#include <array>
#include <cmath>

namespace millrace::ui {

namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("Numbers", text);
}

/// Three significant digits.
QString threeDigits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return QLocale().toString(value, 'f', decimals);
}

} // namespace

QString countText(std::int64_t count) {
  return QLocale().toString(static_cast<qlonglong>(count));
}

QString shortCountText(double count) {
  if (!std::isfinite(count)) return numberText(count);
  static constexpr std::array<const char*, 5> prefixes = {"", "k", "M", "B", "T"}; // B as in 7B
  std::size_t prefix = 0;
  double value = std::abs(count);
  while (value >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const QString sign = count < 0 ? QStringLiteral("-") : QString();
  if (prefix == 0) return sign + QLocale().toString(value, 'g', 3);
  return sign + threeDigits(value) + QChar::Nbsp + QLatin1String(prefixes[prefix]);
}

QString bytesText(std::int64_t bytes) {
  static constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = std::abs(static_cast<double>(bytes));
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  const QString sign = bytes < 0 ? QStringLiteral("-") : QString();
  const QString number = unit == 0 ? QLocale().toString(value, 'f', 0) : threeDigits(value);
  return sign + number + QChar::Nbsp + QLatin1String(units[unit]);
}

namespace {

QString yearsText(double years) {
  const auto rounded = [](double value) { return QLocale().toString(value, 'g', 3); };
  if (years < 999.5) return tr("%1 years").arg(rounded(years));
  if (years < 999'500) return tr("%1 years").arg(countText(std::llround(years / 10) * 10));
  if (years < 999.5e6) return tr("%1 million years").arg(rounded(years / 1e6));
  if (years < 999.5e9) return tr("%1 billion years").arg(rounded(years / 1e9));
  return tr("more than a trillion years");
}

} // namespace

QString durationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return tr("unknown");
  constexpr double minute = 60, hour = 60 * minute, day = 24 * hour, year = 365.25 * day;
  if (seconds >= 2 * year) return yearsText(seconds / year);
  if (seconds >= 100 * day) return tr("%1 days").arg(QLocale().toString(seconds / day, 'f', 0));
  const auto two = [](double large, const QString& largeUnit, double small, const QString& smallUnit) {
    const QString first = QLocale().toString(large, 'f', 0) + QChar::Nbsp + largeUnit;
    return small > 0 ? first + u' ' + QLocale().toString(small, 'f', 0) + QChar::Nbsp + smallUnit : first;
  };
  const double whole = std::round(seconds);
  if (whole >= day) return two(std::floor(whole / day), tr("d"), std::floor(std::fmod(whole, day) / hour), tr("h"));
  if (whole >= hour)
    return two(std::floor(whole / hour), tr("h"), std::floor(std::fmod(whole, hour) / minute), tr("min"));
  if (whole >= minute) return two(std::floor(whole / minute), tr("min"), std::fmod(whole, minute), tr("s"));
  return QLocale().toString(seconds, 'f', seconds >= 10 ? 0 : seconds >= 1 ? 1 : 2) + QChar::Nbsp + tr("s");
}

QString numberText(double value, int digits) {
  if (std::isnan(value)) return QStringLiteral("nan");
  if (std::isinf(value)) return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
  return QLocale().toString(value, 'g', digits);
}

} // namespace millrace::ui

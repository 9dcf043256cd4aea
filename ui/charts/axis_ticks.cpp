#include "charts/axis_ticks.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <array>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr double minute = 60, hour = 3600, day = 86400;

QString tr(const char* text) {
  return QCoreApplication::translate("millrace::ui::AxisTicks", text);
}

QString fixed(double value, int decimals) {
  return QLocale().toString(value == 0 ? 0.0 : value, 'f', decimals);
}

/// fixed() without zeros at the end of decimals.
QString trimmed(double value, int decimals) {
  double unit = std::pow(10, -decimals);
  for (; decimals > 0 && std::abs(std::remainder(value, unit * 10)) < unit * 0.01; --decimals) unit *= 10;
  return fixed(value, decimals);
}

/// That multiples of `step` need.
int decimalsOf(double step) {
  double scaled = step;
  for (int decimals = 0; decimals < 15; ++decimals, scaled *= 10)
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  return 15;
}

/// 1, 2 or 5 times a power of ten.
double decimalStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

double elapsedStep(double least) {
  if (least <= 1) return decimalStep(least);
  static constexpr std::array steps = {1.0,    2.0,        5.0,        10.0,        15.0,        30.0,
                                       minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
                                       hour,   2 * hour,   3 * hour,   6 * hour,    12 * hour,   day};
  const auto* step = std::lower_bound(steps.begin(), steps.end(), least);
  return step != steps.end() ? *step : day * decimalStep(least / day);
}

QString exponential(double value, double step) {
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  const double power = std::pow(10, exponent);
  const int decimals = std::min(decimalsOf(step / power), 12);
  return QStringLiteral("%1e%2").arg(trimmed(value / power, decimals)).arg(exponent);
}

QString withPrefix(double value, double step) {
  static constexpr std::array prefixes = {"", "k", "M", "B", "T", "P"};
  std::size_t prefix = 0;
  double unit = 1;
  while (std::abs(value) >= 1000 * unit * (1 - 1e-12) && prefix + 1 < prefixes.size()) {
    unit *= 1000;
    ++prefix;
  }
  const int decimals = decimalsOf(step / unit);
  if (decimals > 3) return fixed(value, decimalsOf(step));
  return trimmed(value / unit, decimals) + QLatin1String(prefixes[prefix]);
}

QString bytes(double value, double step) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t index = 0;
  double unit = 1;
  // A unit in which neighbours differ within three decimals.
  while (std::abs(value) >= 1024 * unit && step * 512 >= 1024 * unit && index + 1 < units.size()) {
    unit *= 1024;
    ++index;
  }
  return trimmed(value / unit, std::min(decimalsOf(step / unit), 3)) + QChar::Nbsp + QLatin1String(units[index]);
}

QString elapsed(double seconds, double step) {
  const QString sign = seconds < 0 ? QStringLiteral("-") : QString();
  const int decimals = step < 1 ? std::min(decimalsOf(step), 6) : 0;
  double left = std::abs(seconds);
  if (decimals == 0) left = std::round(left);
  const double days = std::floor(left / day);
  if (days > 0 && step >= day) return sign + tr("%1 d").arg(fixed(days, 0));
  left -= days * day;
  const auto twoDigits = [](double value) {
    return QStringLiteral("%1").arg(static_cast<int>(value), 2, 10, QLatin1Char('0'));
  };
  QString text = fixed(std::floor(left / hour), 0) + u':' + twoDigits(std::floor(std::fmod(left, hour) / minute));
  if (step < minute) {
    const double rest = std::fmod(left, minute);
    text += u':' + (rest < 9.9999995 ? QStringLiteral("0") : QString()) + fixed(rest, decimals);
  }
  return sign + (days > 0 ? tr("%1 d %2").arg(fixed(days, 0), text) : text);
}

QString label(double value, double step, double magnitude, AxisNumbers numbers) {
  switch (numbers) {
  case AxisNumbers::Bytes:
    return value == 0 ? QStringLiteral("0") : bytes(value, step);
  case AxisNumbers::Elapsed:
    return elapsed(value, step);
  case AxisNumbers::Count:
    return withPrefix(value, step);
  case AxisNumbers::Plain:
    break;
  }
  if (value == 0) return QStringLiteral("0");
  if (magnitude >= 1e18) return exponential(value, step);
  if (magnitude >= 1e4) return withPrefix(value, step);
  if (magnitude < 2e-3) return exponential(value, step);
  return fixed(value, decimalsOf(step));
}

AxisTicks linearTicks(Range range, AxisNumbers numbers, int count) {
  AxisTicks result;
  const double least = range.size() / std::max(1, count);
  double step = decimalStep(least);
  int parts = 5;
  if (numbers == AxisNumbers::Elapsed) {
    step = elapsedStep(least);
    parts = 1;
  } else if (numbers == AxisNumbers::Bytes) {
    step = std::max(1.0, std::exp2(std::ceil(std::log2(least))));
    parts = 4;
  } else if (numbers == AxisNumbers::Count) {
    step = std::max(1.0, step);
    parts = step == 1 ? 1 : parts;
  }
  if (std::abs(step / decimalStep(step * 0.3) - 4) < 1e-6) parts = 4; // halves of 2 and 20 are easier to read
  const double magnitude = std::max(std::abs(range.lower), std::abs(range.upper));
  const double first = std::ceil(range.lower / step - 1e-9), last = std::floor(range.upper / step + 1e-9);
  if (!(last - first < 1000)) return result;
  for (double tick = first - 1; tick <= last; ++tick) {
    for (int part = 1; part < parts; ++part) {
      const double sub = (tick + static_cast<double>(part) / parts) * step;
      if (sub >= range.lower && sub <= range.upper) result.subTicks.push_back(sub);
    }
    if (tick < first) continue;
    result.ticks.push_back(tick * step);
    result.labels.push_back(label(tick * step, step, magnitude, numbers));
  }
  return result;
}

QString logLabel(double value, AxisNumbers numbers) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  const double magnitude = numbers == AxisNumbers::Plain && value >= 1e-3 && value < 1e4 ? 1 : value;
  return label(value, power, magnitude, numbers);
}

AxisTicks logarithmicTicks(Range range, AxisNumbers numbers, int count) {
  const double decades = std::log10(range.upper / range.lower);
  // In less than that, ticks that are even steps apart tell more.
  if (decades < 0.7) return linearTicks(range, numbers, count);
  AxisTicks result;
  const auto first = static_cast<int>(std::floor(std::log10(range.lower) - 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(range.upper) + 1e-9));
  const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(1, count))));
  const bool labelsBetween = decades * 3 <= count + 2;
  for (int exponent = first; exponent <= last; ++exponent) {
    for (int digit = 1; digit < 10; ++digit) {
      const double value = exponent < 0 ? digit / std::pow(10, -exponent) : digit * std::pow(10, exponent);
      if (value < range.lower * (1 - 1e-9) || value > range.upper * (1 + 1e-9)) continue;
      const bool isTick = digit == 1 ? exponent % every == 0 : labelsBetween && (digit == 2 || digit == 5);
      if (isTick) {
        result.ticks.push_back(value);
        result.labels.push_back(logLabel(value, numbers));
      } else if (every == 1 || digit == 1) {
        result.subTicks.push_back(value);
      }
    }
  }
  return result.ticks.size() < 2 ? linearTicks(range, numbers, count) : result;
}

} // namespace

AxisTicks axisTicks(Range range, AxisNumbers numbers, bool logarithmic, int count) {
  if (!(range.size() > 0) || !std::isfinite(range.size())) return {};
  return logarithmic && range.lower > 0 ? logarithmicTicks(range, numbers, count) : linearTicks(range, numbers, count);
}

AxisNumbers numbersOf(XAxisKind kind) {
  return kind == XAxisKind::Time ? AxisNumbers::Elapsed : AxisNumbers::Count;
}

QString positionText(XAxisKind kind, double x) {
  switch (kind) {
  case XAxisKind::Step:
    return tr("step %1").arg(fixed(x, 0));
  case XAxisKind::Tokens:
    return tr("%1 tokens").arg(fixed(x, 0));
  case XAxisKind::Time:
    return elapsed(x, 1);
  }
  return {};
}

QString readingText(double value, AxisNumbers numbers) {
  if (std::isnan(value)) return tr("NaN");
  if (std::isinf(value)) return value > 0 ? tr("+infinity") : tr("-infinity");
  const double magnitude = std::abs(value);
  if (value == 0) return QStringLiteral("0");
  if (numbers == AxisNumbers::Elapsed) return elapsed(value, 1);
  // The last of five digits, without zeros at the end.
  const double digit = std::pow(10, std::floor(std::log10(magnitude)) - 4);
  double step = digit;
  while (step < magnitude && std::abs(value / step / 10 - std::round(value / step / 10)) * 10 < 0.5) step *= 10;
  if (numbers == AxisNumbers::Bytes)
    return bytes(value, magnitude < 1024 ? 1 : std::exp2(std::floor(std::log2(magnitude)) - 7));
  if (numbers == AxisNumbers::Count && magnitude < 1e6) return fixed(value, std::min(decimalsOf(step), 4));
  if (magnitude < 1e-3 || magnitude >= 1e15) return exponential(std::round(value / step) * step, step);
  if (magnitude >= 1e5) return withPrefix(std::round(value / step) * step, step);
  return fixed(value, std::max(0, decimalsOf(step)));
}

} // namespace millrace::ui

#include "text/jinja/number_format.h"

#include "text/jinja/fault.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

std::string formattedFloat(Heap& heap, double value, char type, int precision, bool alternate) {
  heap.charge(precision + 400);
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  if (std::isnan(value)) return upper ? "NAN" : "nan";
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (upper ? "INF" : "inf");
  const bool percent = type == '%';
  const double shown = percent ? value * 100 : value;
  std::string spec = "{:";
  if (alternate) spec += '#';
  spec += fmt::format(".{}", (type == 'g' || type == 'G') ? std::max(precision, 1) : precision);
  spec += percent ? 'f' : type;
  spec += '}';
  std::string text = fmt::format(fmt::runtime(spec), shown);
  return percent ? text + "%" : text;
}

std::string digitsOf(std::int64_t value, int base, bool upper) {
  const auto magnitude = value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  if (base == 2) return fmt::format("{:b}", magnitude);
  if (base == 8) return fmt::format("{:o}", magnitude);
  if (base == 16) return upper ? fmt::format("{:X}", magnitude) : fmt::format("{:x}", magnitude);
  return fmt::format("{}", magnitude);
}

std::optional<std::int64_t> truncated(const Value& value) {
  if (value.isWhole()) return value.whole();
  if (!value.is(Kind::Float)) return std::nullopt;
  if (std::isnan(value.number)) raise("ValueError", "cannot convert float NaN to integer");
  if (std::isinf(value.number)) raise("OverflowError", "cannot convert float infinity to integer");
  if (std::abs(value.number) >= 9.2e18) raise("OverflowError", "whole numbers beyond 64 bits are not supported");
  return static_cast<std::int64_t>(value.number);
}

} // namespace millrace::jinja

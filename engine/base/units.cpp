#include "base/units.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace millrace {

Result<std::int64_t> checkedMultiply(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
    return badInput(fmt::format("{}: {} x {} is not a size that this machine can count", what, a, b));
  return product;
}

Result<std::int64_t> checkedAdd(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t sum = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum))
    return badInput(fmt::format("{}: {} + {} is not a size that this machine can count", what, a, b));
  return sum;
}

std::string formatBytes(Bytes bytes) {
  const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const double magnitude = std::fabs(static_cast<double>(bytes));
  std::size_t unit = 0;
  double scale = 1.0;
  while (magnitude >= scale * 1024.0 && unit + 1 < std::size(names)) {
    scale *= 1024.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.2f} {}", static_cast<double>(bytes) / scale, names[unit]);
}

std::string formatCount(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string formatDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  constexpr double year = 365.25 * 86400;
  if (seconds >= year) return fmt::format("{:.1f} years", seconds / year);
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{} min {:02} s", total / 60, total % 60);
  if (total < 86400) return fmt::format("{} h {:02} min", total / 3600, total % 3600 / 60);
  return fmt::format("{} d {:02} h", total / 86400, total % 86400 / 3600);
}

Result<Bytes> parseBytes(std::string_view text) {
  const std::string original(text);
  const auto fail = [&] {
    return badInput(
        fmt::format("'{}' is not a size: write for example 24GiB, 512MiB, 10GB or a number of bytes", original));
  };
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || !std::isfinite(value) || value < 0) return fail();
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    if (!std::isspace(static_cast<unsigned char>(*c)))
      unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t power = std::string("kmgtp").find(unit[0]);
    if (power == std::string::npos) return fail();
    const std::string rest = unit.substr(1);
    if (rest == "ib" || rest == "i")
      factor = std::pow(1024.0, static_cast<double>(power + 1));
    else if (rest == "b" || rest.empty())
      factor = std::pow(1000.0, static_cast<double>(power + 1));
    else
      return fail();
  }
  const double bytes = value * factor;
  if (bytes >= static_cast<double>(std::numeric_limits<Bytes>::max())) return fail();
  return static_cast<Bytes>(std::llround(bytes));
}

} // namespace millrace

#include "hardware/rate_text.h"

#include "base/units.h"
#include "hardware/system_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr std::string_view prefixes = "kmgtpe";

std::string_view example(RateUnit unit) {
  switch (unit) {
  case RateUnit::Byte:
    return "55 GB/s";
  case RateUnit::Flop:
    return "790 TFLOP/s";
  case RateUnit::Parameter:
    return "4.7 Gparam/s";
  }
  return "";
}

/// "gflop/s" -> 1e9; nothing when the word is no such unit.
std::optional<double> factorOf(std::string_view word, RateUnit unit) {
  const auto rest = [&](std::string_view text) {
    return unit == RateUnit::Flop ? text == "flop/s" || text == "flops" || text == "flops/s"
                                  : text == "param/s" || text == "params/s" || text == "parameters/s";
  };
  if (rest(word)) return 1.0;
  if (word.empty()) return std::nullopt;
  const std::size_t power = prefixes.find(word.front());
  if (power == std::string_view::npos || !rest(word.substr(1))) return std::nullopt;
  return std::pow(1000.0, static_cast<double>(power + 1));
}

} // namespace

Result<double> parseRate(std::string_view text, RateUnit unit) {
  const auto fail = [&] {
    return badInput(fmt::format("'{}' is not a rate: write for example {}, or a number a second",
                                std::string(text.substr(0, 40)), example(unit)));
  };
  const std::string_view whole = trimmed(text);
  if (unit == RateUnit::Byte) {
    if (whole.size() < 3 || whole.substr(whole.size() - 2) != "/s") return fail();
    const auto bytes = parseBytes(whole.substr(0, whole.size() - 2));
    if (!bytes) return fail();
    return static_cast<double>(*bytes);
  }
  double value = 0;
  const auto [end, code] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (code != std::errc() || !std::isfinite(value) || value < 0) return fail();
  std::string word;
  for (const char* c = end; c != whole.data() + whole.size(); ++c)
    if (!std::isspace(static_cast<unsigned char>(*c)))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  const auto factor = factorOf(word, unit);
  if (!factor || value * *factor > maximalRate) return fail();
  return value * *factor;
}

std::string formatRate(double perSecond, RateUnit unit) {
  constexpr std::string_view steps[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t step = 0;
  while (perSecond >= 999.95 && step + 1 < std::size(steps)) {
    perSecond /= 1000;
    ++step;
  }
  const char* name = unit == RateUnit::Byte ? "B" : unit == RateUnit::Flop ? "FLOP" : "param";
  return fmt::format("{:.{}f} {}{}/s", perSecond, perSecond < 9.995 ? 2 : 1, steps[step], name);
}

std::string_view toString(RateOrigin origin) {
  switch (origin) {
  case RateOrigin::Unknown:
    return "unknown";
  case RateOrigin::Assumed:
    return "assumed";
  case RateOrigin::Entered:
    return "entered";
  case RateOrigin::Measured:
    return "measured";
  }
  return "unknown";
}

} // namespace millrace

#include "text/jinja/number_parse.h"

#include "text/jinja/text_ops.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

namespace millrace::jinja {

namespace {

/// Without the underscores between digits; nothing where one stands elsewhere.
std::optional<std::string> withoutUnderscores(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const auto isPart = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    if (i == 0 || i + 1 == text.size() || !isPart(text[i - 1]) || !isPart(text[i + 1])) return std::nullopt;
  }
  return digits;
}

} // namespace

std::optional<std::int64_t> parseWhole(std::string_view text, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  text = stripLeft(stripRight(text));
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text[0] == '-';
    text = text.substr(1);
  }
  const auto prefixed = [&](char lower, std::int64_t of) {
    if (text.size() < 2 || text[0] != '0' || (text[1] | 0x20) != lower || (base != of && base != 0)) return false;
    text = text.substr(2);
    if (text.starts_with('_')) text = text.substr(1);
    base = of;
    return true;
  };
  if (!prefixed('x', 16) && !prefixed('o', 8) && !prefixed('b', 2) && base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos)
      return std::nullopt;
  }
  const auto digits = withoutUnderscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-' || (*digits)[0] == '+') return std::nullopt;
  const std::string signedDigits = (negative ? "-" : "") + *digits;
  std::int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(signedDigits.data(), signedDigits.data() + signedDigits.size(), value, static_cast<int>(base));
  if (error != std::errc() || stop != signedDigits.data() + signedDigits.size()) return std::nullopt;
  return value;
}

std::optional<double> parseReal(std::string_view text) {
  text = stripLeft(stripRight(text));
  const auto cleaned = withoutUnderscores(text);
  if (!cleaned || cleaned->empty()) return std::nullopt;
  std::string_view body = *cleaned;
  const bool negative = body[0] == '-';
  if (body[0] == '-' || body[0] == '+') body = body.substr(1);
  const std::string word = lowerCase(body);
  const double sign = negative ? -1 : 1;
  if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (body.empty() || body.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [stop, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  if (stop != body.data() + body.size() || body[0] == '-') return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(body).c_str(), nullptr);
  else if (error != std::errc())
    return std::nullopt;
  return sign * value;
}

} // namespace millrace::jinja

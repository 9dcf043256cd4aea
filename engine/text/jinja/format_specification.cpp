#include "text/jinja/format_specification.h"

#include "text/jinja/fault.h"
#include "text/jinja/number_format.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_classes.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

struct Specification {
  std::string fill = " ";
  char align = 0; ///< < > ^ = or 0
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  std::int64_t width = 0;
  char grouping = 0; ///< , or _
  int precision = -1;
  char type = 0;
};

bool isAlignment(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

[[noreturn]] void invalid(const Value& value, std::string_view text) {
  raise("ValueError", fmt::format("Invalid format specifier '{}' for object of type '{}'", text, typeName(value)));
}

/// The digits at the front of the text, which are taken away.
std::int64_t takeNumber(std::string_view& text) {
  std::int64_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + (text[0] - '0');
    if (number > 1'000'000'000) raise("ValueError", "Too many decimal digits in format string");
    text = text.substr(1);
  }
  return number;
}

Specification parse(const Value& value, std::string_view text) {
  const std::string_view whole = text;
  Specification s;
  if (!text.empty()) {
    const auto length = static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[0])));
    if (text.size() > length && isAlignment(text[length])) {
      s.fill = text.substr(0, length);
      s.align = text[length];
      text = text.substr(length + 1);
    } else if (isAlignment(text[0])) {
      s.align = text[0];
      text = text.substr(1);
    }
  }
  const auto takeIf = [&](std::string_view set) {
    if (text.empty() || set.find(text[0]) == std::string_view::npos) return '\0';
    const char c = text[0];
    text = text.substr(1);
    return c;
  };
  if (const char sign = takeIf("+- ")) s.sign = sign;
  s.alternate = takeIf("#") != 0;
  if (takeIf("0") != 0) {
    s.zero = true;
    if (s.align == 0) {
      s.fill = "0";
      s.align = value.isNumber() ? '=' : '<';
    }
  }
  s.width = takeNumber(text);
  if (const char grouping = takeIf(",_")) s.grouping = grouping;
  if (takeIf(".") != 0) {
    if (text.empty() || text[0] < '0' || text[0] > '9') raise("ValueError", "Format specifier missing precision");
    s.precision = static_cast<int>(takeNumber(text));
  }
  if (text.size() > 1) invalid(value, whole);
  if (!text.empty()) s.type = text[0];
  return s;
}

std::string aligned(Heap& heap, const Specification& s, std::string_view prefix, std::string_view body, char standard) {
  const char align = s.align == 0 ? standard : s.align;
  if (align == '=')
    return std::string(prefix) +
           justifiedText(heap, body, s.width - static_cast<std::int64_t>(prefix.size()), s.fill, '>');
  const std::string text = std::string(prefix) + std::string(body);
  if (align != '^') return justifiedText(heap, text, s.width, s.fill, align);
  // format() puts the odd one to the right, unlike str.center().
  const std::int64_t missing = std::max<std::int64_t>(s.width - codePoints(text), 0);
  const std::string left = justifiedText(heap, text, codePoints(text) + missing / 2, s.fill, '>');
  return justifiedText(heap, left, s.width, s.fill, '<');
}

std::string grouped(std::string_view digits, char separator, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) text += separator;
    text += digits[i];
  }
  return text;
}

/// Zeros in front take part in the grouping.
std::string zeroFilled(Heap& heap, const Specification& s, std::string digits, std::string_view tail,
                       std::size_t prefix, std::size_t group) {
  const bool fills = s.align == '=' && s.fill == "0";
  const auto size = [&](std::size_t count) {
    return count + (s.grouping != 0 ? (count - 1) / group : 0) + tail.size() + prefix;
  };
  if (fills && s.width > 0) heap.charge(s.width);
  while (fills && !digits.empty() && static_cast<std::int64_t>(size(digits.size())) < s.width &&
         digits.size() < 1'000'000)
    digits.insert(digits.begin(), '0');
  return (s.grouping != 0 ? grouped(digits, s.grouping, group) : digits) + std::string(tail);
}

std::string signOf(const Specification& s, bool negative) {
  return negative ? "-" : s.sign == '-' ? "" : std::string(1, s.sign);
}

std::string formattedWhole(Heap& heap, const Value& value, const Specification& s) {
  if (s.precision >= 0) raise("ValueError", "Precision not allowed in integer format specifier");
  const std::int64_t number = value.whole();
  const char type = s.type == 0 ? 'd' : s.type;
  if (type == 'c') {
    if (number < 0 || number > 0x10FFFF || (number >= 0xD800 && number <= 0xDFFF))
      raise("OverflowError", "%c arg not in range(0x110000)");
    std::string text;
    appendUtf8(static_cast<char32_t>(number), text);
    return aligned(heap, s, "", text, '<');
  }
  const int base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
  if (s.grouping == ',' && base != 10) raise("ValueError", fmt::format("Cannot specify ',' with '{}'.", type));
  std::string prefix = signOf(s, number < 0);
  if (s.alternate && base != 10) (prefix += '0') += type;
  const std::string body =
      zeroFilled(heap, s, digitsOf(number, base, type == 'X'), "", prefix.size(), base == 10 ? 3 : 4);
  return aligned(heap, s, prefix, body, '>');
}

std::string formattedReal(Heap& heap, const Value& value, const Specification& s) {
  const double number = value.real();
  std::string text;
  if (s.type == 0 && s.precision < 0) {
    text = floatText(number);
  } else if (s.type == 0) {
    text = formattedFloat(heap, number, 'g', s.precision, s.alternate);
    // Like g, but a number keeps a digit behind the point.
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
  } else {
    text = formattedFloat(heap, number, s.type == 'n' ? 'g' : s.type, s.precision < 0 ? 6 : s.precision, s.alternate);
  }
  const bool negative = text.starts_with('-');
  if (negative) text.erase(0, 1);
  const std::string prefix = signOf(s, negative);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return aligned(heap, s, prefix,
                 zeroFilled(heap, s, text.substr(0, digits), std::string_view(text).substr(digits), prefix.size(), 3),
                 '>');
}

std::string formattedString(Heap& heap, const Value& value, const Specification& s) {
  if (s.type != 0 && s.type != 's')
    raise("ValueError", fmt::format("Unknown format code '{}' for object of type '{}'", s.type, typeName(value)));
  if (s.sign != '-') raise("ValueError", "Sign not allowed in string format specifier");
  if (s.alternate) raise("ValueError", "Alternate form (#) not allowed in string format specifier");
  if (s.align == '=') raise("ValueError", "'=' alignment not allowed in string format specifier");
  if (s.grouping != 0) raise("ValueError", fmt::format("Cannot specify '{}' with 's'.", s.grouping));
  std::string text = toText(heap, value);
  if (s.precision >= 0) text.resize(byteOfCodePoint(text, s.precision));
  return aligned(heap, s, "", text, '<');
}

} // namespace

std::string formattedBySpecification(Heap& heap, const Value& value, std::string_view specification) {
  if (specification.empty()) return toText(heap, value);
  if (value.is(Kind::Undefined) || !(value.isString() || value.isNumber()))
    raise("TypeError", fmt::format("unsupported format string passed to {}.__format__", typeName(value)));
  const Specification s = parse(value, specification);
  if (value.isString()) return formattedString(heap, value, s);
  static constexpr std::string_view floats = "eEfFgGn%";
  static constexpr std::string_view wholes = "bcdoxX";
  const bool asFloat =
      s.type != 0 && floats.find(s.type) != std::string_view::npos && !(s.type == 'n' && value.isWhole());
  const bool asWhole = s.type == 0 || s.type == 'n' || wholes.find(s.type) != std::string_view::npos;
  if (value.is(Kind::Float) ? !(asFloat || s.type == 0) : !(asFloat || asWhole))
    raise("ValueError", fmt::format("Unknown format code '{}' for object of type '{}'", s.type, typeName(value)));
  return value.is(Kind::Float) || asFloat ? formattedReal(heap, value, s) : formattedWhole(heap, value, s);
}

} // namespace millrace::jinja

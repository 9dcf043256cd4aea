#include "text/jinja/percent_format.h"

#include "text/jinja/fault.h"
#include "text/jinja/number_format.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_classes.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

struct Conversion {
  bool left = false, plus = false, space = false, alternate = false, zero = false;
  std::int64_t width = 0;
  int precision = -1;
  char type = 's';
};

class PercentFormatter {
 public:
  PercentFormatter(Heap& heap, const Value& format, const Value& arguments)
      : m_heap(heap), m_format(format.text()), m_markup(format.markup), m_arguments(arguments) {}

  std::string run() {
    while (m_at < m_format.size()) {
      const std::size_t percent = m_format.find('%', m_at);
      m_out += m_format.substr(m_at, percent - m_at);
      if (percent == std::string_view::npos) break;
      m_at = percent + 1;
      convert(percent);
    }
    const bool tuple = m_arguments.is(Kind::Tuple);
    const bool left = tuple ? m_used < m_arguments.list->items.size()
                            : m_used == 0 && !m_arguments.is(Kind::Dict) && !m_arguments.is(Kind::List) &&
                                  !m_arguments.is(Kind::Undefined);
    if (left && !m_byName) raise("TypeError", "not all arguments converted during string formatting");
    return std::move(m_out);
  }

 private:
  char take() {
    if (m_at == m_format.size()) raise("ValueError", "incomplete format");
    return m_format[m_at++];
  }

  const Value& next() {
    const bool tuple = m_arguments.is(Kind::Tuple);
    if (tuple ? m_used >= m_arguments.list->items.size() : m_used > 0)
      raise("TypeError", "not enough arguments for format string");
    return tuple ? m_arguments.list->items[m_used++] : (++m_used, m_arguments);
  }

  const Value& named() {
    const std::size_t end = m_format.find(')', m_at);
    if (end == std::string_view::npos) raise("ValueError", "incomplete format key");
    const std::string_view name = m_format.substr(m_at, end - m_at);
    m_at = end + 1;
    if (m_arguments.is(Kind::Undefined)) failUndefined(m_arguments);
    if (m_arguments.is(Kind::List)) raise("TypeError", "list indices must be integers or slices, not str");
    if (!m_arguments.is(Kind::Dict)) raise("TypeError", "format requires a mapping");
    m_byName = true;
    const Value* value = find(*m_arguments.dict, name);
    if (value == nullptr) raise("KeyError", inQuotes(name));
    return *value;
  }

  /// Digits, or * for the next argument.
  std::int64_t number() {
    if (m_at < m_format.size() && m_format[m_at] == '*') {
      ++m_at;
      const Value& value = next();
      if (!value.isWhole()) raise("TypeError", "* wants int");
      return std::clamp<std::int64_t>(value.whole(), -1'000'000'000, 1'000'000'000);
    }
    std::int64_t result = 0;
    while (m_at < m_format.size() && m_format[m_at] >= '0' && m_format[m_at] <= '9') {
      result = result * 10 + (m_format[m_at++] - '0');
      if (result > 1'000'000'000) raise("ValueError", "width too big");
    }
    return result;
  }

  void convert(std::size_t percent) {
    Conversion c;
    const Value* value = nullptr;
    if (m_at < m_format.size() && m_format[m_at] == '(') {
      ++m_at;
      value = &named();
    }
    for (;; ++m_at) {
      const char flag = m_at < m_format.size() ? m_format[m_at] : '\0';
      if (flag == '-')
        c.left = true;
      else if (flag == '+')
        c.plus = true;
      else if (flag == ' ')
        c.space = true;
      else if (flag == '#')
        c.alternate = true;
      else if (flag == '0')
        c.zero = true;
      else
        break;
    }
    c.width = number();
    if (c.width < 0) {
      c.left = true;
      c.width = -c.width;
    }
    if (m_at < m_format.size() && m_format[m_at] == '.') {
      ++m_at;
      c.precision = static_cast<int>(std::max<std::int64_t>(number(), 0));
    }
    while (m_at < m_format.size() && (m_format[m_at] == 'h' || m_format[m_at] == 'l' || m_format[m_at] == 'L')) ++m_at;
    const std::size_t typeAt = m_at;
    c.type = take();
    if (c.type == '%') {
      m_out += '%';
      return;
    }
    static constexpr std::string_view known = "sradiuoxXeEfFgGc";
    if (known.find(c.type) == std::string_view::npos) {
      const int length = utf8Length(static_cast<unsigned char>(c.type));
      raise("ValueError", fmt::format("unsupported format character '{}' (0x{:x}) at index {}",
                                      m_format.substr(typeAt, static_cast<std::size_t>(length)),
                                      static_cast<unsigned>(readUtf8(m_format.data() + typeAt, length)),
                                      codePoints(m_format.substr(0, typeAt))));
    }
    static_cast<void>(percent);
    append(c, value != nullptr ? *value : next());
  }

  void append(const Conversion& c, const Value& value) {
    std::string sign, body;
    bool number = true;
    switch (c.type) {
    case 's':
    case 'r':
    case 'a': {
      number = false;
      body = c.type == 's' ? (m_markup ? std::string(escaped(m_heap, value).text()) : toText(m_heap, value))
                           : represent(m_heap, value);
      if (c.precision >= 0) body.resize(byteOfCodePoint(body, c.precision));
      break;
    }
    case 'c':
      number = false;
      body = character(value);
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': {
      if (value.is(Kind::Undefined)) failUndefined(value);
      if (!value.isNumber()) raise("TypeError", fmt::format("must be real number, not {}", typeName(value)));
      body = formattedFloat(m_heap, value.real(), c.type, c.precision < 0 ? 6 : c.precision, c.alternate);
      splitSign(body, sign);
      break;
    }
    default: {
      const bool decimal = c.type == 'd' || c.type == 'i' || c.type == 'u';
      if (value.is(Kind::Undefined) && decimal) failUndefined(value);
      const auto whole = decimal || value.isWhole() ? truncated(value) : std::nullopt;
      if (!whole)
        raise("TypeError", fmt::format("%{} format: {} is required, not {}", c.type,
                                       decimal ? "a real number" : "an integer", typeName(value)));
      const int base = c.type == 'o' ? 8 : c.type == 'x' || c.type == 'X' ? 16 : 10;
      body = digitsOf(*whole, base, c.type == 'X');
      if (c.precision > static_cast<int>(body.size())) {
        m_heap.charge(c.precision);
        body.insert(0, static_cast<std::size_t>(c.precision) - body.size(), '0');
      }
      if (*whole < 0) sign = "-";
      if (c.alternate && base != 10) sign += base == 8 ? "0o" : c.type == 'X' ? "0X" : "0x";
    }
    }
    if (number && !sign.starts_with('-')) sign = (c.plus ? "+" : c.space ? " " : "") + sign;
    if (number && c.zero && !c.left)
      body = justifiedText(m_heap, body, c.width - static_cast<std::int64_t>(sign.size()), "0", '>');
    m_out += justifiedText(m_heap, sign + body, c.width, " ", c.left ? '<' : '>');
  }

  static void splitSign(std::string& body, std::string& sign) {
    if (!body.starts_with('-')) return;
    body.erase(0, 1);
    sign = "-";
  }

  std::string character(const Value& value) const {
    if (value.isWhole()) {
      const std::int64_t code = value.whole();
      if (code < 0 || code > 0x10FFFF) raise("OverflowError", "%c arg not in range(0x110000)");
      if (code >= 0xD800 && code <= 0xDFFF) raise("ValueError", "half of a surrogate pair is no character");
      std::string text;
      appendUtf8(static_cast<char32_t>(code), text);
      return text;
    }
    if (!value.isString() || codePoints(value.text()) != 1) raise("TypeError", "%c requires int or char");
    return std::string(value.text());
  }

  Heap& m_heap;
  const std::string_view m_format;
  const bool m_markup;
  const Value& m_arguments;
  std::size_t m_at = 0;
  std::size_t m_used = 0;
  bool m_byName = false;
  std::string m_out;
};

} // namespace

Value percentFormatted(Heap& heap, const Value& format, const Value& arguments) {
  return heap.string(PercentFormatter(heap, format, arguments).run(), format.markup);
}

} // namespace millrace::jinja

#include "text/jinja/brace_format.h"

#include "text/jinja/access.h"
#include "text/jinja/fault.h"
#include "text/jinja/format_specification.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

std::optional<std::int64_t> numberIn(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

class BraceFormatter {
 public:
  BraceFormatter(Heap& heap, bool markup, const Arguments& arguments)
      : m_heap(heap), m_markup(markup), m_arguments(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth == 0) raise("ValueError", "Max string recursion exceeded");
    std::string out;
    for (std::size_t at = 0; at < format.size();) {
      const char c = format[at];
      const bool doubled = at + 1 < format.size() && format[at + 1] == c;
      if (c != '{' && c != '}') {
        const std::size_t end = std::min(format.find_first_of("{}", at), format.size());
        out += format.substr(at, end - at);
        at = end;
      } else if (doubled) {
        out += c;
        at += 2;
      } else if (c == '}') {
        raise("ValueError", "Single '}' encountered in format string");
      } else {
        const std::size_t end = fieldEnd(format, at + 1);
        out += field(format.substr(at + 1, end - at - 1), depth);
        at = end + 1;
      }
      m_heap.step();
    }
    return out;
  }

 private:
  static std::size_t fieldEnd(std::string_view format, std::size_t at) {
    if (at == format.size()) raise("ValueError", "Single '{' encountered in format string");
    int open = 1;
    for (bool inBrackets = false; at < format.size(); ++at) {
      const char c = format[at];
      if (c == '[') inBrackets = true;
      if (c == ']') inBrackets = false;
      if (inBrackets) continue;
      if (c == '{') ++open;
      if (c == '}' && --open == 0) return at;
    }
    raise("ValueError", "expected '}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    std::size_t nameEnd = 0;
    for (bool inBrackets = false; nameEnd < text.size(); ++nameEnd) {
      const char c = text[nameEnd];
      if (c == '[') inBrackets = true;
      if (c == ']') inBrackets = false;
      if (!inBrackets && (c == '!' || c == ':')) break;
    }
    Value value = lookUp(text.substr(0, nameEnd));
    std::string_view rest = text.substr(nameEnd);
    if (rest.starts_with('!')) {
      if (rest.size() < 2) raise("ValueError", "end of string while looking for conversion specifier");
      value = converted(value, rest[1]);
      rest = rest.substr(2);
      if (!rest.empty() && rest[0] != ':') raise("ValueError", "expected ':' after conversion specifier");
    }
    const std::string specification = rest.empty() ? "" : run(rest.substr(1), depth - 1);
    if (m_markup && specification.empty()) return std::string(escaped(m_heap, value).text());
    const std::string shown = formattedBySpecification(m_heap, value, specification);
    return m_markup ? std::string(escaped(m_heap, m_heap.string(shown)).text()) : shown;
  }

  Value converted(const Value& value, char conversion) {
    if (conversion == 's') return m_heap.string(toText(m_heap, value));
    if (conversion == 'r' || conversion == 'a') return m_heap.string(represent(m_heap, value));
    raise("ValueError", fmt::format("Unknown conversion specifier {}", conversion));
  }

  Value first(std::string_view name) {
    if (name.empty()) {
      if (m_numbered == Numbering::Manual)
        raise("ValueError", "cannot switch from manual field specification to automatic field numbering");
      m_numbered = Numbering::Automatic;
      return positional(m_next++);
    }
    if (const auto number = numberIn(name)) {
      if (m_numbered == Numbering::Automatic)
        raise("ValueError", "cannot switch from manual field specification to automatic field numbering");
      m_numbered = Numbering::Manual;
      return positional(*number);
    }
    for (const auto& [key, value] : m_arguments.named)
      if (key == name) return value;
    raise("KeyError", inQuotes(name));
  }

  Value positional(std::int64_t i) const {
    if (i >= static_cast<std::int64_t>(m_arguments.positional.size()))
      raise("IndexError", fmt::format("Replacement index {} out of range for positional args tuple", i));
    return m_arguments.positional[static_cast<std::size_t>(i)];
  }

  Value lookUp(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = first(name.substr(0, end));
    name = name.substr(end);
    while (!name.empty()) {
      m_heap.step();
      if (name[0] == '.') {
        const std::size_t stop = std::min(name.find_first_of(".[", 1), name.size());
        if (stop == 1) raise("ValueError", "Empty attribute in format string");
        value = attribute(m_heap, value, name.substr(1, stop - 1));
        name = name.substr(stop);
      } else {
        const std::size_t stop = name.find(']');
        if (name[0] != '[' || stop == std::string_view::npos) raise("ValueError", "Missing ']' in format string");
        const std::string_view key = name.substr(1, stop - 1);
        const auto number = numberIn(key);
        value = item(m_heap, value, number ? Value::of(*number) : m_heap.string(std::string(key)));
        name = name.substr(stop + 1);
        if (!name.empty() && name[0] != '.' && name[0] != '[')
          raise("ValueError", "Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  enum class Numbering { Unknown, Automatic, Manual };

  Heap& m_heap;
  const bool m_markup;
  const Arguments& m_arguments;
  Numbering m_numbered = Numbering::Unknown;
  std::int64_t m_next = 0;
};

} // namespace

std::string braceFormatted(Heap& heap, const Value& format, const Arguments& arguments) {
  return BraceFormatter(heap, format.markup, arguments).run(format.text(), 2);
}

} // namespace millrace::jinja

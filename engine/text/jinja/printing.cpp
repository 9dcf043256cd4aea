#include "text/jinja/printing.h"

#include "text/jinja/ast.h"
#include "text/jinja/fault.h"
#include "text/jinja/loop.h"
#include "text/jinja/text_ops.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

/// Namespaces may hold themselves.
constexpr int deepestPrint = 300;

class Representer {
 public:
  Representer(Heap& heap, std::string& out) : m_heap(heap), m_out(out) {}

  void append(const Value& value) {
    if (++m_depth > deepestPrint)
      raise("RecursionError", "maximum recursion depth exceeded while getting the repr of an object");
    appendValue(value);
    --m_depth;
  }

 private:
  void appendValue(const Value& value) {
    m_heap.step();
    const std::size_t before = m_out.size();
    switch (value.kind) {
    case Kind::Undefined:
      m_out += "Undefined";
      break;
    case Kind::None:
      m_out += "None";
      break;
    case Kind::Bool:
      m_out += value.boolean ? "True" : "False";
      break;
    case Kind::Int:
      m_out += std::to_string(value.integer);
      break;
    case Kind::Float:
      m_out += floatText(value.number);
      break;
    case Kind::String:
      m_out += value.markup ? fmt::format("Markup({})", inQuotes(value.text())) : inQuotes(value.text());
      break;
    case Kind::List:
      appendItems("[", value.list->items, "]");
      return;
    case Kind::Tuple:
      appendItems("(", value.list->items, value.list->items.size() == 1 ? ",)" : ")");
      return;
    case Kind::Dict:
      appendDict(*value.dict);
      return;
    case Kind::DictView:
      appendView(*value.view);
      return;
    case Kind::Range: {
      const RangeObject& range = *value.range;
      m_out += range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                               : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
      break;
    }
    case Kind::Namespace:
      appendNamespace(*value.ns);
      return;
    case Kind::Macro:
      m_out += fmt::format("<Macro {}>", value.macro->name.empty() ? "anonymous" : inQuotes(value.macro->name));
      break;
    case Kind::Loop:
      m_out += fmt::format("<LoopContext {}/{}>", value.loop->index(), value.loop->length());
      break;
    case Kind::Function:
      m_out += value.function->isClass ? fmt::format("<class '{}'>", value.function->name)
                                       : fmt::format("<function {}>", value.function->name);
      break;
    case Kind::Iterator:
    case Kind::Cycler:
    case Kind::Joiner:
      m_out += fmt::format("<{} object>", typeName(value)); // an address follows in Python
      break;
    }
    m_heap.charge(static_cast<std::int64_t>(m_out.size() - before));
  }

  void appendItems(const char* open, const Values& items, const char* close) {
    m_out += open;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) m_out += ", ";
      append(items[i]);
    }
    m_out += close;
  }

  void appendPair(const Value& key, const Value& value) {
    append(key);
    m_out += ": ";
    append(value);
  }

  void appendDict(const DictObject& dict) {
    m_out += '{';
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      if (i > 0) m_out += ", ";
      appendPair(dict.items[i].first, dict.items[i].second);
    }
    m_out += '}';
  }

  void appendView(const DictViewObject& view) {
    using Part = DictViewObject::Part;
    m_out += view.part == Part::AllKeys     ? "dict_keys(["
             : view.part == Part::AllValues ? "dict_values(["
                                            : "dict_items([";
    for (std::size_t i = 0; i < view.dict->items.size(); ++i) {
      const auto& [key, value] = view.dict->items[i];
      if (i > 0) m_out += ", ";
      if (view.part == Part::AllKeys) {
        append(key);
      } else if (view.part == Part::AllValues) {
        append(value);
      } else {
        m_out += '(';
        append(key);
        m_out += ", ";
        append(value);
        m_out += ')';
      }
    }
    m_out += "])";
  }

  void appendNamespace(const NamespaceObject& ns) {
    m_out += "<Namespace {";
    for (std::size_t i = 0; i < ns.attributes.size(); ++i) {
      if (i > 0) m_out += ", ";
      m_out += inQuotes(ns.attributes[i].first) + ": ";
      append(ns.attributes[i].second);
    }
    m_out += "}>";
  }

  Heap& m_heap;
  std::string& m_out;
  int m_depth = 0;
};

} // namespace

std::string floatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view written(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = written.find('e');
  std::string digits;
  const bool negative = written[0] == '-';
  for (const char c : written.substr(negative ? 1 : 0, e - (negative ? 1 : 0)))
    if (c != '.') digits += c;
  int exponent = 0;
  const std::string_view exponentText = written.substr(e + 1);
  std::from_chars(exponentText.data() + (exponentText[0] == '+' ? 1 : 0), exponentText.data() + exponentText.size(),
                  exponent);
  std::string text = negative ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    text += digits[0];
    if (count > 1) text += "." + digits.substr(1);
    return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return text + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return text + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  return text + digits.substr(0, static_cast<std::size_t>(exponent + 1)) + "." +
         digits.substr(static_cast<std::size_t>(exponent + 1));
}

void appendText(Heap& heap, const Value& value, std::string& out) {
  if (value.is(Kind::Undefined)) return;
  if (value.isString()) {
    heap.charge(static_cast<std::int64_t>(value.text().size()));
    out += value.text();
    return;
  }
  Representer(heap, out).append(value);
}

std::string toText(Heap& heap, const Value& value) {
  std::string text;
  appendText(heap, value, text);
  return text;
}

std::string represent(Heap& heap, const Value& value) {
  std::string text;
  Representer(heap, text).append(value);
  return text;
}

std::string describeObject(const Value& value) {
  switch (value.kind) {
  case Kind::None:
    return "None";
  case Kind::Undefined:
  case Kind::Macro:
  case Kind::Loop:
    return fmt::format("jinja2.runtime.{} object", typeName(value));
  case Kind::Namespace:
  case Kind::Cycler:
  case Kind::Joiner:
    return fmt::format("jinja2.utils.{} object", typeName(value));
  case Kind::String:
    return value.markup ? "markupsafe.Markup object" : "str object";
  default:
    return typeName(value) + " object";
  }
}

} // namespace millrace::jinja

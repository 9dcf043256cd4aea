// JSON as json.dumps writes it.
#include "text/jinja/fault.h"
#include "text/jinja/printing.h"
#include "text/utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style) : m_heap(heap), m_style(style) {}

  std::string run(const Value& value) {
    append(value, 0);
    return std::move(m_out);
  }

 private:
  void appendString(std::string_view text) {
    m_heap.charge(static_cast<std::int64_t>(text.size()));
    m_out += '"';
    for (std::size_t at = 0; at < text.size();) {
      const auto c = static_cast<unsigned char>(text[at]);
      const int length = utf8Length(c);
      if (c == '"' || c == '\\')
        (m_out += '\\') += static_cast<char>(c);
      else if (c == '\n')
        m_out += "\\n";
      else if (c == '\r')
        m_out += "\\r";
      else if (c == '\t')
        m_out += "\\t";
      else if (c == '\b')
        m_out += "\\b";
      else if (c == '\f')
        m_out += "\\f";
      else if (c < 0x20)
        m_out += fmt::format("\\u{:04x}", c);
      else if (c < 0x80 || !m_style.ascii)
        m_out += text.substr(at, static_cast<std::size_t>(length));
      else
        appendEscaped(static_cast<unsigned>(readUtf8(text.data() + at, length)));
      at += static_cast<std::size_t>(length);
    }
    m_out += '"';
  }

  void appendEscaped(unsigned code) {
    if (code <= 0xFFFF) {
      m_out += fmt::format("\\u{:04x}", code);
      return;
    }
    code -= 0x10000;
    m_out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
  }

  static std::string numberText(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return floatText(value);
  }

  void breakLine(int level) {
    if (!m_style.indent) return;
    m_heap.charge(static_cast<std::int64_t>(m_style.indent->size()) * level);
    m_out += '\n';
    for (int i = 0; i < level; ++i) m_out += *m_style.indent;
  }

  void append(const Value& value, int level) {
    m_heap.step();
    const std::size_t before = m_out.size();
    switch (value.kind) {
    case Kind::None:
      m_out += "null";
      break;
    case Kind::Bool:
      m_out += value.boolean ? "true" : "false";
      break;
    case Kind::Int:
      m_out += std::to_string(value.integer);
      break;
    case Kind::Float:
      m_out += numberText(value.number);
      break;
    case Kind::String:
      appendString(value.text());
      break;
    case Kind::List:
    case Kind::Tuple:
      appendList(value.list->items, level);
      return;
    case Kind::Dict:
      appendDict(*value.dict, level);
      return;
    default:
      raise("TypeError", fmt::format("Object of type {} is not JSON serializable", typeName(value)));
    }
    m_heap.charge(static_cast<std::int64_t>(m_out.size() - before));
  }

  void appendList(const Values& items, int level) {
    if (items.empty()) {
      m_out += "[]";
      return;
    }
    m_out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) m_out += m_style.itemSeparator;
      breakLine(level + 1);
      append(items[i], level + 1);
    }
    breakLine(level);
    m_out += ']';
  }

  std::string keyText(const Value& key) const {
    switch (key.kind) {
    case Kind::String:
      return std::string(key.text());
    case Kind::None:
      return "null";
    case Kind::Bool:
      return key.boolean ? "true" : "false";
    case Kind::Int:
      return std::to_string(key.integer);
    case Kind::Float:
      return numberText(key.number);
    default:
      raise("TypeError", fmt::format("keys must be str, int, float, bool or None, not {}", typeName(key)));
    }
  }

  void appendDict(const DictObject& dict, int level) {
    if (dict.items.empty()) {
      m_out += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (m_style.sortKeys) sortByKey(items);
    m_out += '{';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) m_out += m_style.itemSeparator;
      breakLine(level + 1);
      appendString(keyText(items[i]->first));
      m_out += m_style.keySeparator;
      append(items[i]->second, level + 1);
    }
    breakLine(level);
    m_out += '}';
  }

  void sortByKey(std::vector<const std::pair<Value, Value>*>& items) const {
    std::stable_sort(items.begin(), items.end(), [&](const auto* a, const auto* b) {
      const Value& x = a->first;
      const Value& y = b->first;
      if (x.isString() && y.isString()) return x.text() < y.text();
      if (x.isNumber() && y.isNumber()) return x.real() < y.real();
      raise("TypeError", fmt::format("'<' not supported between instances of '{}' and '{}'", typeName(x), typeName(y)));
    });
  }

  Heap& m_heap;
  const JsonStyle& m_style;
  std::string m_out;
};

} // namespace

std::string toJson(Heap& heap, const Value& value, const JsonStyle& style) {
  return JsonWriter(heap, style).run(value);
}

} // namespace millrace::jinja

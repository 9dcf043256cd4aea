#include "configure/json_text.h"

#include <algorithm>
#include <charconv>

namespace millrace::ui {

namespace {

using Keys = std::vector<std::string>;

/// Longest line that an object or list is put on as a whole.
constexpr std::size_t lineLength = 100;

/// Walks over a text that is known to parse.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t at) : m_text(text), m_at(at) {}

  char peek() {
    while (m_at < m_text.size() && std::string_view(" \t\r\n").find(m_text[m_at]) != std::string_view::npos) ++m_at;
    return m_at < m_text.size() ? m_text[m_at] : '\0';
  }
  /// Passes a separator, if that is what comes.
  void pass(char separator) {
    if (peek() == separator) ++m_at;
  }
  TextSpan value() {
    const char first = peek();
    const std::size_t begin = m_at;
    if (first == '"')
      passString();
    else if (first == '{' || first == '[')
      passNested();
    else
      m_at = std::min(m_text.find_first_of(",]} \t\r\n", m_at), m_text.size());
    return {begin, m_at};
  }

 private:
  void passString() {
    for (++m_at; m_at < m_text.size() && m_text[m_at] != '"'; ++m_at)
      if (m_text[m_at] == '\\') ++m_at;
    ++m_at;
  }
  void passNested() {
    int depth = 0;
    do {
      const char c = m_text[m_at];
      if (c == '"') {
        passString();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++m_at;
    } while (depth > 0 && m_at < m_text.size());
  }

  std::string_view m_text;
  std::size_t m_at;
};

struct Member {
  std::string key;
  TextSpan name, value;
};

TextSpan rootOf(std::string_view text) {
  return Scanner(text, text.starts_with("\xEF\xBB\xBF") ? 3 : 0).value();
}

std::vector<Member> membersOf(std::string_view text, TextSpan object) {
  std::vector<Member> members;
  Scanner scanner(text, object.begin + 1);
  while (scanner.peek() != '}') {
    Member member;
    member.name = scanner.value();
    member.key = Json::parse(text.substr(member.name.begin, member.name.end - member.name.begin)).get<std::string>();
    scanner.pass(':');
    member.value = scanner.value();
    members.push_back(std::move(member));
    scanner.pass(',');
  }
  return members;
}

std::vector<TextSpan> elementsOf(std::string_view text, TextSpan list) {
  std::vector<TextSpan> elements;
  Scanner scanner(text, list.begin + 1);
  while (scanner.peek() != ']') {
    elements.push_back(scanner.value());
    scanner.pass(',');
  }
  return elements;
}

std::optional<std::size_t> indexOf(const std::string& part) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (code != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return index;
}

std::optional<TextSpan> find(std::string_view text, const Keys& keys) {
  TextSpan place = rootOf(text);
  for (const std::string& key : keys) {
    std::optional<TextSpan> next;
    if (text[place.begin] == '{') {
      for (const Member& member : membersOf(text, place))
        if (member.key == key) next = member.value;
    } else if (text[place.begin] == '[') {
      const auto elements = elementsOf(text, place);
      if (const auto index = indexOf(key); index && *index < elements.size()) next = elements[*index];
    }
    if (!next) return std::nullopt;
    place = *next;
  }
  return place;
}

Keys split(std::string_view key) {
  Keys parts(1);
  for (const char c : key)
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// How the text is written, and values in the same way.
class Style {
 public:
  explicit Style(std::string_view text) : m_newLine(text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n") {
    const auto members = membersOf(text, rootOf(text));
    if (members.empty() || !startsLine(text, members.front().name.begin)) return;
    if (const std::string unit = indentAt(text, members.front().name.begin); !unit.empty()) m_unit = unit;
  }

  const std::string& newLine() const { return m_newLine; }
  const std::string& unit() const { return m_unit; }

  /// Blanks at the beginning of the line that holds the position.
  static std::string indentAt(std::string_view text, std::size_t position) {
    const std::size_t before = position == 0 ? std::string_view::npos : text.rfind('\n', position - 1);
    const std::size_t line = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find_first_not_of(" \t", line), position);
    return std::string(text.substr(line, end - line));
  }
  static bool startsLine(std::string_view text, std::size_t position) {
    while (position > 0 && (text[position - 1] == ' ' || text[position - 1] == '\t')) --position;
    return position > 0 && text[position - 1] == '\n';
  }

  /// On one line where that is short enough.
  std::string written(const Json& value, const std::string& indent) const {
    if (!value.is_structured() || value.empty()) return dump(value);
    const std::string line = onOneLine(value);
    if (indent.size() + line.size() <= lineLength) return line;
    const std::string inner = indent + m_unit;
    std::string text;
    for (const auto& [key, element] : value.items()) {
      text += (text.empty() ? "" : ",") + m_newLine + inner;
      if (value.is_object()) text += dump(Json(key)) + ": ";
      text += written(element, inner);
    }
    return (value.is_object() ? "{" : "[") + text + m_newLine + indent + (value.is_object() ? "}" : "]");
  }

 private:
  static std::string onOneLine(const Json& value) {
    if (!value.is_structured() || value.empty()) return dump(value);
    std::string text;
    for (const auto& [key, element] : value.items()) {
      if (!text.empty()) text += ", ";
      if (value.is_object()) text += dump(Json(key)) + ": ";
      text += onOneLine(element);
    }
    return value.is_object() ? "{ " + text + " }" : "[" + text + "]";
  }

  std::string m_newLine;
  std::string m_unit = "  ";
};

std::string spliced(std::string_view text, TextSpan span, const std::string& replacement) {
  return std::string(text.substr(0, span.begin)) + replacement + std::string(text.substr(span.end));
}

/// rest of the path as nested objects around the value.
Json nested(const Keys& keys, std::size_t from, const Json& value) {
  if (from == keys.size()) return value;
  Json object = Json::object();
  object[keys[from]] = nested(keys, from + 1, value);
  return object;
}

std::string inserted(std::string_view text, TextSpan object, const std::string& key, const Json& value) {
  const Style style(text);
  const auto members = membersOf(text, object);
  const std::string name = dump(Json(key)) + ": ";
  if (members.empty()) {
    const std::string outer = Style::indentAt(text, object.begin);
    if (object == rootOf(text)) {
      const std::string inner = outer + style.unit();
      return spliced(text, object,
                     "{" + style.newLine() + inner + name + style.written(value, inner) + style.newLine() + outer +
                         "}");
    }
    return spliced(text, object, "{ " + name + style.written(value, outer) + " }");
  }
  const std::size_t first = members.front().name.begin;
  const std::size_t end = members.back().value.end;
  const std::string indent = Style::indentAt(text, first);
  const std::string gap = Style::startsLine(text, first) ? "," + style.newLine() + indent : ", ";
  return spliced(text, {end, end}, gap + name + style.written(value, indent));
}

std::string removedMember(std::string_view text, TextSpan object, const std::string& key) {
  const auto members = membersOf(text, object);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].key != key) continue;
    if (i + 1 < members.size()) return spliced(text, {members[i].name.begin, members[i + 1].name.begin}, "");
    if (i > 0) return spliced(text, {members[i - 1].value.end, members[i].value.end}, "");
    return spliced(text, object, "{}");
  }
  return std::string(text);
}

/// Only the elements between those that both lists begin and end with are written anew.
std::string changedList(std::string_view text, TextSpan span, const Json& before, const Json& after) {
  const Style style(text);
  const auto elements = elementsOf(text, span);
  std::size_t head = 0, tail = 0;
  const std::size_t shorter = std::min(before.size(), after.size());
  while (head < shorter && before[head] == after[head]) ++head;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;

  const std::string indent = Style::indentAt(text, elements.front().begin);
  std::string gap = elements.size() > 1 ? std::string(text.substr(elements[0].end, elements[1].begin - elements[0].end))
                                        : std::string(", ");
  std::string middle;
  for (std::size_t i = head; i < after.size() - tail; ++i)
    middle += (i > head ? gap : "") + style.written(after[i], indent);
  const std::size_t oldEnd = before.size() - tail;
  if (head < oldEnd && !middle.empty()) return spliced(text, {elements[head].begin, elements[oldEnd - 1].end}, middle);
  if (head < oldEnd) // something is removed
    return tail > 0 ? spliced(text, {elements[head].begin, elements[oldEnd].begin}, "")
                    : spliced(text, {elements[head - 1].end, elements[oldEnd - 1].end}, "");
  return tail > 0 ? spliced(text, {elements[head].begin, elements[head].begin}, middle + gap)
                  : spliced(text, {elements[head - 1].end, elements[head - 1].end}, gap + middle);
}

/// The value at the place changed to another, as little of its text as possible.
std::string changedValue(std::string text, const Keys& keys, const Json& value) {
  const TextSpan span = *find(text, keys);
  const Json before = Json::parse(std::string_view(text).substr(span.begin, span.end - span.begin));
  if (before == value && before.type() == value.type()) return text;
  if (before.is_array() && value.is_array() && !before.empty() && before.size() == value.size()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Keys inner = keys;
      inner.push_back(std::to_string(i));
      text = changedValue(std::move(text), inner, value[i]);
    }
    return text;
  }
  if (before.is_array() && value.is_array() && !before.empty() && !value.empty())
    return changedList(text, span, before, value);
  if (!before.is_object() || !value.is_object() || before.empty() || value.empty())
    return spliced(text, span, Style(text).written(value, Style::indentAt(text, span.begin)));
  for (const auto& [key, old] : before.items())
    if (!value.contains(key)) text = removedMember(text, *find(text, keys), key);
  for (const auto& [key, element] : value.items()) {
    Keys inner = keys;
    inner.push_back(key);
    text = before.contains(key) ? changedValue(std::move(text), inner, element)
                                : inserted(text, *find(text, keys), key, element);
  }
  return text;
}

std::string joined(const Keys& keys, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? "." : "") + keys[i];
  return text;
}

/// The text without those of the keys that this object has; the first of them gives its place to the new key, if that
/// is not there yet.
std::string withReplaced(std::string text, const Keys& keys, std::size_t depth, const Json& value,
                         const std::vector<std::string>& replaced) {
  const Keys parent(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(depth));
  const std::string prefix = depth > 0 ? joined(keys, depth) + "." : "";
  for (const std::string& other : replaced) {
    if (!other.starts_with(prefix) || other.find('.', prefix.size()) != std::string::npos) continue;
    const auto members = membersOf(text, *find(text, parent));
    const auto has = [&](const std::string& key) {
      return std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.key == key; });
    };
    const auto found = has(other.substr(prefix.size()));
    if (found == members.end()) continue;
    if (has(keys[depth]) != members.end()) {
      text = removedMember(text, *find(text, parent), found->key);
      continue;
    }
    const std::string member =
        dump(Json(keys[depth])) + ": " +
        Style(text).written(nested(keys, depth + 1, value), Style::indentAt(text, found->name.begin));
    text = spliced(text, {found->name.begin, found->value.end}, member);
  }
  return text;
}

} // namespace

std::optional<TextSpan> spanOfValue(std::string_view text, std::string_view key) {
  return find(text, split(key));
}

std::string withValue(std::string_view original, std::string_view key, const Json& value,
                      const std::vector<std::string>& replaced) {
  const Keys keys = split(key);
  std::string text(original);
  TextSpan place = rootOf(text);
  for (std::size_t depth = 0; depth < keys.size(); ++depth) {
    Keys path(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(depth));
    if (text[place.begin] == '{') {
      text = withReplaced(std::move(text), keys, depth, value, replaced);
      place = *find(text, path);
    } else if (text[place.begin] != '[') { // neither: it has no room for the key
      return spliced(text, place, Style(text).written(nested(keys, depth, value), Style::indentAt(text, place.begin)));
    }
    path.push_back(keys[depth]);
    const auto next = find(text, path);
    if (!next)
      return text[place.begin] == '{' ? inserted(text, place, keys[depth], nested(keys, depth + 1, value)) : text;
    place = *next;
  }
  return changedValue(std::move(text), keys, value);
}

std::string withoutKey(std::string_view text, std::string_view key) {
  Keys keys = split(key);
  if (!find(text, keys)) return std::string(text);
  for (;;) {
    const std::string last = keys.back();
    keys.pop_back();
    const TextSpan object = *find(text, keys);
    if (text[object.begin] != '{') return std::string(text);
    const bool inObject = keys.empty() || text[find(text, Keys(keys.begin(), keys.end() - 1))->begin] == '{';
    if (keys.empty() || !inObject || membersOf(text, object).size() > 1) return removedMember(text, object, last);
  }
}

const Json* valueAt(const Json& json, std::string_view key) {
  const Json* place = &json;
  for (const std::string& part : split(key)) {
    if (place->is_object()) {
      const auto found = place->find(part);
      if (found == place->end()) return nullptr;
      place = &*found;
    } else if (const auto index = indexOf(part); place->is_array() && index && *index < place->size()) {
      place = &(*place)[*index];
    } else {
      return nullptr;
    }
  }
  return place;
}

} // namespace millrace::ui

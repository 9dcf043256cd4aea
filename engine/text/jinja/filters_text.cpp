// Filters that give text.
#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/percent_format.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_classes.h"
#include "text/jinja/text_ops.h"
#include "text/jinja/word_wrap.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

Value like(Runtime& runtime, const Value& text, std::string changed) {
  return runtime.heap().string(std::move(changed), text.markup);
}

template <std::string (*function)(std::string_view)>
Value changed(Runtime& runtime, Arguments& arguments, const char* name) {
  const BoundArguments bound(name, arguments, {{"s", true}});
  const Value text = softText(runtime.heap(), bound[0]);
  return like(runtime, text, function(text.text()));
}
Value upper(Runtime& runtime, Arguments& arguments) {
  return changed<&upperCase>(runtime, arguments, "do_upper");
}
Value lower(Runtime& runtime, Arguments& arguments) {
  return changed<&lowerCase>(runtime, arguments, "do_lower");
}
Value capitalize(Runtime& runtime, Arguments& arguments) {
  return changed<&capitalized>(runtime, arguments, "do_capitalize");
}

Value title(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_title", arguments, {{"s", true}});
  const Value text = softText(runtime.heap(), bound[0]);
  std::string result;
  bool wordStarts = true;
  for (const std::string_view character : characters(text.text())) {
    const char32_t code = readUtf8(character.data(), static_cast<int>(character.size()));
    const bool between =
        isPythonSpace(code) || code == U'-' || code == U'(' || code == U'{' || code == U'[' || code == U'<';
    result += between ? std::string(character) : wordStarts ? upperCase(character) : lowerCase(character);
    wordStarts = between;
  }
  return like(runtime, text, std::move(result));
}

Value trim(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_trim", arguments, {{"value", true}, {"chars"}});
  const Value text = softText(runtime.heap(), bound[0]);
  if (bound[1].is(Kind::None)) return like(runtime, text, std::string(stripLeft(stripRight(text.text()))));
  if (!bound[1].isString()) raise("TypeError", "strip arg must be None or str");
  runtime.heap().step(
      static_cast<std::int64_t>(text.text().size() * std::min<std::size_t>(bound[1].text().size(), 4096) / 16));
  return like(runtime, text, std::string(strip(text.text(), bound[1].text().substr(0, 4096), true, true)));
}

Value replace(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_replace", arguments, {{"s", true}, {"old", true}, {"new", true}, {"count"}}, 1);
  Heap& heap = runtime.heap();
  const std::int64_t count = bound[3].is(Kind::None) ? -1 : wholeArgument(bound[3]);
  const auto plain = [&](const Value& value) { return heap.string(toText(heap, value)); };
  if (!runtime.autoEscapes()) return replaceText(heap, plain(bound[0]), plain(bound[1]), plain(bound[2]), count);
  const auto marked = [](const Value& value) { return value.isString() && value.markup; };
  const bool escapes = marked(bound[1]) || (marked(bound[2]) && !marked(bound[0]));
  const Value text = escapes ? escaped(heap, bound[0]) : softText(heap, bound[0]);
  return replaceText(heap, text, softText(heap, bound[1]), softText(heap, bound[2]), count);
}

Value join(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_join", arguments, {{"value", true}, {"d"}, {"attribute"}}, 1);
  Heap& heap = runtime.heap();
  const AttributePath path(bound[2]);
  const Value separator = bound.has(1) ? bound[1] : heap.string("");
  // With escaping on, one safe item makes everything else be escaped.
  std::vector<Value> items;
  bool markup = runtime.autoEscapes() && separator.isString() && separator.markup;
  const ItemSource next = iterate(heap, bound[0]);
  for (Value item; next(item);) {
    heap.charge(sizeof(Value));
    items.push_back(path.of(heap, item));
    markup = markup || (runtime.autoEscapes() && items.back().isString() && items.back().markup);
  }
  const auto shown = [&](const Value& value) {
    return markup ? std::string(escaped(heap, value).text()) : toText(heap, value);
  };
  const std::string between = shown(separator);
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      heap.charge(static_cast<std::int64_t>(between.size()));
      text += between;
    }
    text += shown(items[i]);
  }
  return heap.string(std::move(text), markup);
}

Value center(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_center", arguments, {{"value", true}, {"width"}});
  const Value text = softText(runtime.heap(), bound[0]);
  return like(runtime, text,
              justifiedText(runtime.heap(), text.text(), bound.has(1) ? wholeArgument(bound[1]) : 80, " ", '^'));
}

Value indent(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_indent", arguments, {{"s", true}, {"width"}, {"first"}, {"blank"}});
  Heap& heap = runtime.heap();
  std::string indention(4, ' ');
  if (bound.has(1)) {
    const std::int64_t width = bound[1].isString() ? 0 : wholeArgument(bound[1]);
    heap.charge(std::max<std::int64_t>(width, 0));
    indention = bound[1].isString() ? std::string(bound[1].text())
                                    : std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
  }
  // The reference adds a line feed in place, which is what its messages are about.
  if (bound[0].is(Kind::Undefined)) failUndefined(bound[0]);
  if (bound[0].is(Kind::List)) noAttribute(bound[0], "splitlines");
  if (!bound[0].isString() && !bound[0].is(Kind::Tuple))
    raise("TypeError", fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", typeName(bound[0])));
  const Value text = arithmetic(heap, Operator::Add, bound[0], heap.string("\n"));
  const bool blank = bound.truthOr(3, false);
  const std::vector<std::string_view> lines = splitLines(text.text(), false);
  std::string result = bound.truthOr(2, false) ? indention : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      heap.charge(static_cast<std::int64_t>(indention.size()));
      result += '\n';
      if (blank || !lines[i].empty()) result += indention;
    }
    result += lines[i];
  }
  return like(runtime, text, std::move(result));
}

Value truncate(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_truncate", arguments, {{"s", true}, {"length"}, {"killwords"}, {"end"}, {"leeway"}},
                             1);
  Heap& heap = runtime.heap();
  const std::int64_t length = bound.has(1) ? wholeArgument(bound[1]) : 255;
  const std::string_view end = !bound.has(3) ? "..." : softText(heap, bound[3]).text();
  const std::int64_t leeway = bound[4].is(Kind::None) ? 5 : wholeArgument(bound[4]);
  if (length < codePoints(end))
    raise("AssertionError", fmt::format("expected length >= {}, got {}", codePoints(end), length));
  if (leeway < 0) raise("AssertionError", fmt::format("expected leeway >= 0, got {}", leeway));
  if (!bound[0].isString()) {
    if (!lengthOf(bound[0])) raise("TypeError", fmt::format("object of type '{}' has no len()", typeName(bound[0])));
    if (*lengthOf(bound[0]) <= length + leeway) return bound[0];
    raise("TypeError", fmt::format("a {} cannot be truncated, expected a text", typeName(bound[0])));
  }
  const std::string_view text = bound[0].text();
  if (codePoints(text) <= length || codePoints(text) - length <= leeway) return bound[0];
  std::string_view kept = text.substr(0, byteOfCodePoint(text, length - codePoints(end)));
  if (!bound.truthOr(2, false)) kept = kept.substr(0, kept.rfind(' '));
  return like(runtime, bound[0], std::string(kept) + std::string(end));
}

Value wordwrap(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_wordwrap", arguments,
                             {{"s", true}, {"width"}, {"break_long_words"}, {"wrapstring"}, {"break_on_hyphens"}}, 1);
  WrapOptions options;
  if (bound.has(1)) options.width = wholeArgument(bound[1]);
  if (options.width <= 0) raise("ValueError", fmt::format("invalid width {} (must be > 0)", options.width));
  options.breakLongWords = bound.truthOr(2, true);
  options.breakOnHyphens = bound.truthOr(4, true);
  if (!bound[0].isString()) noAttribute(bound[0], "splitlines");
  const std::string between = bound[3].is(Kind::None) ? "\n" : toText(runtime.heap(), bound[3]);
  std::string text;
  bool first = true;
  runtime.heap().charge(static_cast<std::int64_t>(bound[0].text().size()));
  const auto add = [&](const std::string& line) {
    if (!first) text += between;
    runtime.heap().charge(static_cast<std::int64_t>(between.size() + line.size()));
    text += line;
    first = false;
  };
  for (const std::string_view paragraph : splitLines(bound[0].text(), false)) {
    const std::vector<std::string> lines = wrappedLines(paragraph, options);
    if (lines.empty()) add("");
    for (const std::string& line : lines) add(line);
  }
  return like(runtime, bound[0], std::move(text));
}

Value wordcount(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_wordcount", arguments, {{"s", true}});
  const Value text = softText(runtime.heap(), bound[0]);
  std::int64_t words = 0;
  bool inside = false;
  for (const std::string_view character : characters(text.text())) {
    const char32_t code = readUtf8(character.data(), static_cast<int>(character.size()));
    const bool word = code == U'_' || isAlnum(character);
    if (word && !inside) ++words;
    inside = word;
  }
  return Value::of(words);
}

Value format(Runtime& runtime, Arguments& arguments) {
  Heap& heap = runtime.heap();
  if (arguments.positional.size() > 1 && !arguments.named.empty())
    raise("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  const Value text = softText(heap, arguments.positional.at(0));
  if (arguments.named.empty())
    return percentFormatted(heap, text,
                            heap.tuple(Values(arguments.positional.begin() + 1, arguments.positional.end())));
  std::vector<std::pair<Value, Value>> fields;
  for (const auto& [name, value] : arguments.named) fields.emplace_back(heap.string(name), value);
  return percentFormatted(heap, text, heap.dict(std::move(fields)));
}

Value escape(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("escape", arguments, {{"s", true}});
  return escaped(runtime.heap(), bound[0]);
}

Value forceEscape(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_forceescape", arguments, {{"value", true}});
  return escaped(runtime.heap(), runtime.heap().string(toText(runtime.heap(), bound[0])));
}

Value safe(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_mark_safe", arguments, {{"value", true}});
  return runtime.heap().string(toText(runtime.heap(), bound[0]), true);
}

Value toString(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("soft_str", arguments, {{"s", true}});
  return softText(runtime.heap(), bound[0]);
}

/// Without tags and comments; runs of white space become one space; the entities that escaping writes are resolved.
Value stripTags(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_striptags", arguments, {{"value", true}});
  std::string text = toText(runtime.heap(), bound[0]);
  const auto cut = [&](std::string_view open, std::string_view close) {
    std::string kept;
    std::size_t at = 0;
    for (;;) {
      const std::size_t begin = findText(text, open, at);
      const std::size_t end = begin == std::string::npos ? begin : findText(text, close, begin);
      if (end == std::string::npos) break;
      kept.append(text, at, begin - at);
      at = end + close.size();
    }
    text = kept.append(text, at);
  };
  cut("<!--", "-->");
  cut("<", ">");
  std::string joined;
  for (std::string_view rest = stripLeft(text); !rest.empty();) {
    std::size_t end = 0;
    while (end < rest.size()) {
      const int length = utf8Length(static_cast<unsigned char>(rest[end]));
      if (isPythonSpace(readUtf8(rest.data() + end, length))) break;
      end += static_cast<std::size_t>(length);
    }
    if (!joined.empty()) joined += ' ';
    joined += rest.substr(0, end);
    rest = stripLeft(rest.substr(end));
  }
  for (const auto& [entity, character] : std::initializer_list<std::pair<const char*, const char*>>{
           {"&lt;", "<"}, {"&gt;", ">"}, {"&#39;", "'"}, {"&#34;", "\""}, {"&quot;", "\""}, {"&amp;", "&"}})
    joined = replaced(joined, entity, character, -1);
  return runtime.heap().string(std::move(joined));
}

std::string urlQuoted(std::string_view text, bool query) {
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '.' || c == '-' || c == '~' || (c == '/' && !query);
    if (plain)
      result += c;
    else if (c == ' ' && query)
      result += '+';
    else
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

Value urlencode(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_urlencode", arguments, {{"value", true}});
  Heap& heap = runtime.heap();
  const Value& value = bound[0];
  if (value.isString() || !isIterable(value)) return heap.string(urlQuoted(toText(heap, value), false));
  Values pairs = value.is(Kind::Dict) ? collect(heap, heap.view(value.dict, DictViewObject::Part::AllItems))
                                      : collect(heap, value);
  std::string text;
  for (const Value& pair : pairs) {
    if (!isIterable(pair)) raise("TypeError", fmt::format("cannot unpack non-iterable {} object", typeName(pair)));
    const Values parts = collect(heap, pair);
    if (parts.size() > 2) raise("ValueError", "too many values to unpack (expected 2)");
    if (parts.size() < 2)
      raise("ValueError", fmt::format("not enough values to unpack (expected 2, got {})", parts.size()));
    if (!text.empty()) text += '&';
    text += urlQuoted(toText(heap, parts[0]), true) + "=" + urlQuoted(toText(heap, parts[1]), true);
  }
  return heap.string(std::move(text));
}

Value xmlattr(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_xmlattr", arguments, {{"d", true}, {"autospace"}}, 1);
  Heap& heap = runtime.heap();
  if (!bound[0].is(Kind::Dict)) noAttribute(bound[0], "items");
  std::string text;
  for (const auto& [key, value] : bound[0].dict->items) {
    if (value.is(Kind::None) || value.is(Kind::Undefined)) continue;
    if (!key.isString()) raise("TypeError", "expected string or bytes-like object, got '" + typeName(key) + "'");
    if (key.text().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      raise("ValueError", fmt::format("Invalid character in attribute name: {}", inQuotes(key.text())));
    if (!text.empty()) text += ' ';
    text += fmt::format("{}=\"{}\"", escaped(heap, key).text(), escaped(heap, value).text());
  }
  if (bound.truthOr(1, true) && !text.empty()) text.insert(0, 1, ' ');
  return heap.string(std::move(text), runtime.autoEscapes());
}

Value tojson(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("tojson", arguments,
                             {{"x", true}, {"ensure_ascii"}, {"indent"}, {"separators"}, {"sort_keys"}});
  JsonStyle style;
  style.ascii = bound.truthOr(1, false);
  style.sortKeys = bound.truthOr(4, false);
  if (bound[2].isString()) {
    style.indent = std::string(bound[2].text());
  } else if (!bound[2].is(Kind::None)) {
    const std::int64_t width = std::max<std::int64_t>(wholeArgument(bound[2]), 0);
    runtime.heap().charge(width);
    style.indent = std::string(static_cast<std::size_t>(width), ' ');
  }
  if (style.indent) style.itemSeparator = ",";
  if (!bound[3].is(Kind::None)) {
    const Values separators = collect(runtime.heap(), bound[3]);
    if (separators.size() != 2)
      raise("ValueError",
            fmt::format("{} values to unpack (expected 2)", separators.size() > 2 ? "too many" : "not enough"));
    style.itemSeparator = toText(runtime.heap(), separators[0]);
    style.keySeparator = toText(runtime.heap(), separators[1]);
  }
  return runtime.heap().string(toJson(runtime.heap(), bound[0], style));
}

constexpr NamedFilter textTable[] = {
    {"upper", &upper},
    {"lower", &lower},
    {"capitalize", &capitalize},
    {"title", &title},
    {"trim", &trim},
    {"replace", &replace},
    {"join", &join},
    {"center", &center},
    {"indent", &indent},
    {"truncate", &truncate},
    {"wordwrap", &wordwrap},
    {"wordcount", &wordcount},
    {"format", &format},
    {"e", &escape},
    {"escape", &escape},
    {"forceescape", &forceEscape},
    {"safe", &safe},
    {"string", &toString},
    {"striptags", &stripTags},
    {"urlencode", &urlencode},
    {"xmlattr", &xmlattr},
    {"tojson", &tojson},
};

} // namespace

std::span<const NamedFilter> textFilters() {
  return textTable;
}

} // namespace millrace::jinja

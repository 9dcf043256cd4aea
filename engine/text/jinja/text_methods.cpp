// The methods of str.
#include "text/jinja/arguments.h"
#include "text/jinja/brace_format.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_classes.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

/// A new text that is as safe as self.
Value like(Runtime& runtime, const Value& self, std::string text) {
  return runtime.heap().string(std::move(text), self.markup);
}

std::string_view textArgument(const Value& value, const char* what) {
  if (value.isString()) return value.text();
  raise("TypeError", fmt::format("{} not {}", what, typeName(value)));
}

template <std::string (*function)(std::string_view)>
Value transformed(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str method", arguments, 0, 0);
  runtime.heap().charge(static_cast<std::int64_t>(self.text().size()));
  return like(runtime, self, function(self.text()));
}

template <bool (*predicate)(std::string_view)>
Value tested(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str method", arguments, 0, 0);
  runtime.heap().step(static_cast<std::int64_t>(self.text().size() / 16));
  return Value::of(predicate(self.text()));
}

template <bool left, bool right>
Value stripped(Runtime& runtime, const Value& self, Arguments& arguments) {
  constexpr const char* name = left && right ? "strip" : left ? "lstrip" : "rstrip";
  expectPositional(name, arguments, 0, 1);
  std::string_view text = self.text();
  if (arguments.positional.empty() || arguments.positional[0].is(Kind::None)) {
    if constexpr (left) text = stripLeft(text);
    if constexpr (right) text = stripRight(text);
  } else {
    const Value& set = arguments.positional[0];
    if (!set.isString()) raise("TypeError", fmt::format("{} arg must be None or str", name));
    runtime.heap().step(static_cast<std::int64_t>(set.text().size()));
    // Each character that goes is looked for in the set.
    const std::string_view before = text;
    text = strip(text, set.text().substr(0, 4096), left, right);
    runtime.heap().step(
        static_cast<std::int64_t>((before.size() - text.size()) * std::min<std::size_t>(set.text().size(), 4096) / 16));
  }
  return like(runtime, self, std::string(text));
}

Value listOf(Runtime& runtime, const Value& self, const std::vector<std::string_view>& parts) {
  Values items;
  for (const std::string_view part : parts) items.push_back(like(runtime, self, std::string(part)));
  return runtime.heap().list(std::move(items));
}

std::vector<std::string_view> splitAtSpace(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> parts;
  text = stripLeft(text);
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back(stripRight(text));
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const int length = utf8Length(static_cast<unsigned char>(text[end]));
      if (isPythonSpace(readUtf8(text.data() + end, length))) break;
      end += static_cast<std::size_t>(length);
    }
    parts.push_back(text.substr(0, end));
    text = stripLeft(text.substr(end));
  }
  return parts;
}

std::vector<std::string_view> splitAtSpaceFromRight(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> parts;
  text = stripRight(text);
  while (!text.empty()) {
    if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
      parts.push_back(stripLeft(text));
      break;
    }
    std::size_t begin = text.size();
    while (begin > 0) {
      std::size_t at = begin - 1;
      while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
      if (isPythonSpace(readUtf8(text.data() + at, static_cast<int>(begin - at)))) break;
      begin = at;
    }
    parts.push_back(text.substr(begin));
    text = stripRight(text.substr(0, begin));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator, std::int64_t most) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    const std::size_t hit = findText(text, separator, begin);
    if (hit == std::string_view::npos) break;
    parts.push_back(text.substr(begin, hit - begin));
    begin = hit + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string_view> splitAtFromRight(Heap& heap, std::string_view text, std::string_view separator,
                                               std::int64_t most) {
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    heap.step(static_cast<std::int64_t>(text.size() / 16)); // each search starts anew
    const std::size_t hit = findLastText(text, separator);
    if (hit == std::string_view::npos) break;
    parts.push_back(text.substr(hit + separator.size()));
    text = text.substr(0, hit);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool fromRight>
Value split(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments bound(fromRight ? "str.rsplit" : "str.split", arguments, {{"sep"}, {"maxsplit"}});
  const std::int64_t most = bound.has(1) ? wholeArgument(bound[1]) : -1;
  const std::string_view text = self.text();
  runtime.heap().step(static_cast<std::int64_t>(text.size() / 16));
  if (bound[0].is(Kind::None))
    return listOf(runtime, self, fromRight ? splitAtSpaceFromRight(text, most) : splitAtSpace(text, most));
  const std::string_view separator = textArgument(bound[0], "must be str or None,");
  if (separator.empty()) raise("ValueError", "empty separator");
  // Without a limit both directions cut at the same places, but where separators overlap with themselves.
  return listOf(runtime, self,
                fromRight ? splitAtFromRight(runtime.heap(), text, separator, most) : splitAt(text, separator, most));
}

Value splitIntoLines(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments bound("str.splitlines", arguments, {{"keepends"}});
  runtime.heap().step(static_cast<std::int64_t>(self.text().size() / 16));
  return listOf(runtime, self, splitLines(self.text(), bound.truthOr(0, false)));
}

template <bool fromRight>
Value partition(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional(fromRight ? "str.rpartition" : "str.partition", arguments, 1, 1);
  const std::string_view separator = textArgument(arguments.positional[0], "must be str,");
  if (separator.empty()) raise("ValueError", "empty separator");
  const std::string_view text = self.text();
  runtime.heap().charge(static_cast<std::int64_t>(text.size()));
  const std::size_t hit = fromRight ? findLastText(text, separator) : findText(text, separator, 0);
  const auto piece = [&](std::string_view part) { return like(runtime, self, std::string(part)); };
  if (hit == std::string_view::npos)
    return runtime.heap().tuple(fromRight ? Values{piece(""), piece(""), piece(text)}
                                          : Values{piece(text), piece(""), piece("")});
  return runtime.heap().tuple(
      {piece(text.substr(0, hit)), piece(separator), piece(text.substr(hit + separator.size()))});
}

/// The part of the text between the optional start and end (in characters) from arguments[first] on, and the number
/// of characters before it; nothing when start lies behind the end.
std::optional<std::pair<std::string_view, std::int64_t>> window(std::string_view text, const Arguments& arguments,
                                                                std::size_t first) {
  if (arguments.positional.size() <= first) return std::pair(text, std::int64_t{0});
  const std::int64_t count = codePoints(text);
  const auto placed = [&](std::size_t i, std::int64_t absent) {
    if (arguments.positional.size() <= i || arguments.positional[i].is(Kind::None)) return absent;
    if (!arguments.positional[i].isWhole())
      raise("TypeError", "slice indices must be integers or None or have an __index__ method");
    const std::int64_t index = arguments.positional[i].whole();
    return index < 0 ? std::max<std::int64_t>(std::max(index, -count) + count, 0) : index;
  };
  const std::int64_t begin = placed(first, 0);
  const std::int64_t end = std::min(placed(first + 1, count), count);
  if (begin > end) return std::nullopt;
  const std::size_t from = byteOfCodePoint(text, begin);
  return std::pair(text.substr(from, byteOfCodePoint(text, end) - from), begin);
}

template <bool atEnd>
Value startsOrEnds(Runtime& runtime, const Value& self, Arguments& arguments) {
  constexpr const char* name = atEnd ? "endswith" : "startswith";
  if (!arguments.named.empty()) raise("TypeError", fmt::format("str.{}() takes no keyword arguments", name));
  if (arguments.positional.empty() || arguments.positional.size() > 3)
    raise("TypeError",
          fmt::format("{}() takes at {} {} argument{} ({} given)", name,
                      arguments.positional.empty() ? "least" : "most", arguments.positional.empty() ? 1 : 3,
                      arguments.positional.empty() ? "" : "s", arguments.positional.size()));
  const Value& what = arguments.positional[0];
  const auto part = window(self.text(), arguments, 1);
  const auto matches = [&](std::string_view affix) {
    return part && (atEnd ? part->first.ends_with(affix) : part->first.starts_with(affix));
  };
  runtime.heap().step();
  if (what.isString()) return Value::of(matches(what.text()));
  if (!what.is(Kind::Tuple))
    raise("TypeError", fmt::format("{} first arg must be str or a tuple of str, not {}", name, typeName(what)));
  for (const Value& affix : what.list->items) {
    if (!affix.isString())
      raise("TypeError", fmt::format("tuple for {} must only contain str, not {}", name, typeName(affix)));
    if (matches(affix.text())) return Value::of(true);
  }
  return Value::of(false);
}

template <bool fromRight, bool mustBeThere>
Value findIn(Runtime& runtime, const Value& self, Arguments& arguments) {
  constexpr const char* name = mustBeThere ? (fromRight ? "rindex" : "index") : (fromRight ? "rfind" : "find");
  if (arguments.positional.empty()) raise("TypeError", fmt::format("{}() takes at least 1 argument (0 given)", name));
  expectPositional(name, arguments, 1, 3);
  const std::string_view what = textArgument(arguments.positional[0], "must be str,");
  runtime.heap().charge(static_cast<std::int64_t>(self.text().size()));
  if (const auto part = window(self.text(), arguments, 1)) {
    const std::size_t hit = fromRight ? findLastText(part->first, what) : findText(part->first, what, 0);
    if (hit != std::string_view::npos) return Value::of(part->second + codePoints(part->first.substr(0, hit)));
  }
  if (mustBeThere) raise("ValueError", "substring not found");
  return Value::of(std::int64_t{-1});
}

Value count(Runtime& runtime, const Value& self, Arguments& arguments) {
  if (arguments.positional.empty()) raise("TypeError", "count() takes at least 1 argument (0 given)");
  expectPositional("count", arguments, 1, 3);
  const std::string_view what = textArgument(arguments.positional[0], "must be str,");
  runtime.heap().step(static_cast<std::int64_t>(self.text().size() / 16));
  const auto part = window(self.text(), arguments, 1);
  if (!part) return Value::of(std::int64_t{0});
  if (what.empty()) return Value::of(codePoints(part->first) + 1);
  return Value::of(static_cast<std::int64_t>(splitAt(part->first, what, -1).size()) - 1);
}

Value replace(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str.replace", arguments, 2, 3);
  for (std::size_t i = 0; i < 2; ++i)
    if (!arguments.positional[i].isString())
      raise("TypeError",
            fmt::format("replace() argument {} must be str, not {}", i + 1, typeName(arguments.positional[i])));
  const std::int64_t most = arguments.positional.size() > 2 ? wholeArgument(arguments.positional[2]) : -1;
  return replaceText(runtime.heap(), self, arguments.positional[0], arguments.positional[1], most);
}

Value join(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str.join", arguments, 1, 1);
  if (!isIterable(arguments.positional[0])) raise("TypeError", "can only join an iterable");
  std::string text;
  std::int64_t i = 0;
  const ItemSource next = iterate(runtime.heap(), arguments.positional[0]);
  for (Value item; next(item); ++i) {
    if (!item.isString())
      raise("TypeError", fmt::format("sequence item {}: expected str instance, {} found", i, typeName(item)));
    if (self.markup) item = escaped(runtime.heap(), item);
    runtime.heap().charge(static_cast<std::int64_t>(item.text().size() + self.text().size()));
    if (i > 0) text += self.text();
    text += item.text();
  }
  return like(runtime, self, std::move(text));
}

Value removePrefix(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str.removeprefix", arguments, 1, 1);
  std::string_view text = self.text();
  const std::string_view prefix = textArgument(arguments.positional[0], "removeprefix() argument must be str,");
  if (text.starts_with(prefix)) text = text.substr(prefix.size());
  return like(runtime, self, std::string(text));
}

Value removeSuffix(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str.removesuffix", arguments, 1, 1);
  std::string_view text = self.text();
  const std::string_view suffix = textArgument(arguments.positional[0], "removesuffix() argument must be str,");
  if (!suffix.empty() && text.ends_with(suffix)) text = text.substr(0, text.size() - suffix.size());
  return like(runtime, self, std::string(text));
}

/// where: '<', '>' or '^'.
template <char where>
Value justified(Runtime& runtime, const Value& self, Arguments& arguments) {
  constexpr const char* name = where == '<' ? "ljust" : where == '>' ? "rjust" : "center";
  expectPositional(name, arguments, 1, 2);
  std::string_view fill = " ";
  if (arguments.positional.size() > 1) {
    fill = textArgument(arguments.positional[1], "The fill character must be a unicode character,");
    if (codePoints(fill) != 1) raise("TypeError", "The fill character must be exactly one character long");
  }
  return like(runtime, self,
              justifiedText(runtime.heap(), self.text(), wholeArgument(arguments.positional[0]), fill, where));
}

Value zeroFill(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("str.zfill", arguments, 1, 1);
  std::string_view text = self.text();
  std::string sign;
  const std::int64_t width = wholeArgument(arguments.positional[0]);
  if (width <= codePoints(text)) return self;
  if (text.starts_with('+') || text.starts_with('-')) {
    sign = text.substr(0, 1);
    text = text.substr(1);
  }
  return like(runtime, self,
              sign + justifiedText(runtime.heap(), text, width - static_cast<std::int64_t>(sign.size()), "0", '>'));
}

Value expandTabs(Runtime& runtime, const Value& self, Arguments& arguments) {
  const BoundArguments bound("expandtabs", arguments, {{"tabsize"}});
  const std::int64_t size = std::max<std::int64_t>(bound.has(0) ? wholeArgument(bound[0]) : 8, 0);
  std::string text;
  std::int64_t column = 0;
  for (const std::string_view character : characters(self.text())) {
    if (character == "\t") {
      const std::int64_t spaces = size == 0 ? 0 : size - column % size;
      runtime.heap().charge(spaces);
      text.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
    } else {
      text += character;
      column = character == "\n" || character == "\r" ? 0 : column + 1;
    }
  }
  return like(runtime, self, std::move(text));
}

Value format(Runtime& runtime, const Value& self, Arguments& arguments) {
  return like(runtime, self, braceFormatted(runtime.heap(), self, arguments));
}

Value formatMap(Runtime& runtime, const Value& self, Arguments& arguments) {
  if (!arguments.named.empty()) raise("TypeError", "format_map() takes no keyword arguments");
  if (arguments.positional.size() != 1)
    raise("TypeError", fmt::format("format_map() takes exactly one argument {} given", arguments.positional.size()));
  Arguments fields;
  if (arguments.positional[0].is(Kind::Dict))
    for (const auto& [key, value] : arguments.positional[0].dict->items)
      if (key.isString()) fields.named.emplace_back(std::string(key.text()), value);
  return like(runtime, self, braceFormatted(runtime.heap(), self, fields));
}

} // namespace

Method textMethod(std::string_view name) {
  static constexpr std::pair<std::string_view, Method> known[] = {
      {"strip", &stripped<true, true>},
      {"lstrip", &stripped<true, false>},
      {"rstrip", &stripped<false, true>},
      {"split", &split<false>},
      {"rsplit", &split<true>},
      {"splitlines", &splitIntoLines},
      {"partition", &partition<false>},
      {"rpartition", &partition<true>},
      {"startswith", &startsOrEnds<false>},
      {"endswith", &startsOrEnds<true>},
      {"find", &findIn<false, false>},
      {"rfind", &findIn<true, false>},
      {"index", &findIn<false, true>},
      {"rindex", &findIn<true, true>},
      {"count", &count},
      {"replace", &replace},
      {"join", &join},
      {"removeprefix", &removePrefix},
      {"removesuffix", &removeSuffix},
      {"upper", &transformed<&upperCase>},
      {"lower", &transformed<&lowerCase>},
      {"casefold", &transformed<&caseFold>},
      {"capitalize", &transformed<&capitalized>},
      {"title", &transformed<&titleCase>},
      {"swapcase", &transformed<&swapCase>},
      {"isalpha", &tested<&isAlpha>},
      {"isalnum", &tested<&isAlnum>},
      {"isdigit", &tested<&isDigitText>},
      {"isdecimal", &tested<&isDecimal>},
      {"isnumeric", &tested<&isNumericText>},
      {"isspace", &tested<&isSpace>},
      {"isupper", &tested<&isUpper>},
      {"islower", &tested<&isLower>},
      {"istitle", &tested<&isTitle>},
      {"isascii", &tested<&isAscii>},
      {"isidentifier", &tested<&isIdentifier>},
      {"isprintable", &tested<&isPrintableText>},
      {"ljust", &justified<'<'>},
      {"rjust", &justified<'>'>},
      {"center", &justified<'^'>},
      {"zfill", &zeroFill},
      {"expandtabs", &expandTabs},
      {"format", &format},
      {"format_map", &formatMap},
  };
  for (const auto& [spelling, method] : known)
    if (spelling == name) return method;
  return nullptr;
}

} // namespace millrace::jinja

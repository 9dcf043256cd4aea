#include "text/pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

Result<Regex> makePattern(const Json& pattern, const std::string& where) {
  // Very old files hold the bare string.
  if (pattern.is_string()) return Regex::literal(pattern.get_ref<const std::string&>());
  if (pattern.is_object() && pattern.size() == 1 && pattern.begin().value().is_string()) {
    const std::string& text = pattern.begin().value().get_ref<const std::string&>();
    const std::string& kind = pattern.begin().key();
    if (kind == "String" || kind == "Regex") {
      auto regex = kind == "String" ? Regex::literal(text) : Regex::compile(text);
      if (!regex) return badInput(fmt::format("{}.pattern: {}", where, regex.error().message));
      return regex;
    }
  }
  return badInput(fmt::format("{}.pattern: expected {{\"String\": text}} or {{\"Regex\": text}}", where));
}

Status checkGrowth(std::size_t bytes, std::size_t given) {
  constexpr std::size_t anyway = std::size_t{1} << 20;
  constexpr std::size_t factor = 64; // the longest decompositions of Unicode take less
  if (bytes <= anyway || bytes / factor <= given) return {};
  return badInput(fmt::format("the tokenizer's normalizer makes more than {} of a text of {}; what a tokenizer.json "
                              "puts in place of a text may be {} times as long",
                              formatBytes(static_cast<Bytes>(bytes)), formatBytes(static_cast<Bytes>(given)), factor));
}

Status replaceAll(std::string& text, std::size_t given, const Regex& pattern, std::string_view content,
                  RegexScratch& scratch) {
  std::string out;
  std::size_t done = 0;
  bool any = false;
  RegexMatches matches(pattern, text, scratch);
  for (;;) {
    MILLRACE_TRY(const Regex::Match match, matches.next());
    if (!match.found) break;
    any = true;
    out.append(text, done, match.begin - done);
    out.append(content);
    MILLRACE_CHECK(checkGrowth(out.size(), given));
    done = match.end;
  }
  if (!any) return {};
  out.append(text, done);
  text = std::move(out);
  return {};
}

tl::unexpected<Error> unsupportedComponent(const std::string& where, const Json& description,
                                           const std::vector<std::string>& known) {
  return badInput(fmt::format("{}: '{}' is not supported; supported are {}", where,
                              description.value("type", std::string("?")), fmt::join(known, ", ")));
}

Result<std::string> componentType(const Json& description, const std::string& where) {
  if (!description.is_object()) return badInput(fmt::format("{}: expected an object with a type", where));
  const auto type = description.find("type");
  if (type == description.end() || !type->is_string())
    return badInput(fmt::format("{}.type: expected the component's name as a string", where));
  return type->get<std::string>();
}

} // namespace millrace

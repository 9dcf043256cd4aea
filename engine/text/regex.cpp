#include "text/regex.h"

#include "text/utf8.h"

#include <fmt/format.h>
#include <utility>
#include <vector>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace millrace {

namespace {
constexpr std::uint32_t matchLimit = 50'000'000; // steps of one search
constexpr std::uint32_t heapLimitKiB = 256 * 1024;
constexpr std::size_t jitStackStart = 64 * 1024;
constexpr std::size_t jitStackLimit = 4 * 1024 * 1024;
constexpr std::size_t patternLimit = 64 * 1024;

std::string pcreMessage(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

// PCRE2's own \s, \w and \h differ from Oniguruma's: U+180E is a space to PCRE2, marks and connectors are no word
// characters to it (and the digits of Latin-1 are, to Oniguruma), and \h is a hexadecimal digit to Oniguruma.
constexpr std::string_view spaceSet = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view wordSet = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
// Inside of [...] Oniguruma has the digits of Latin-1 as no word characters.
constexpr std::string_view wordSetOfClass = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view hexSet = "0-9a-fA-F";

/// Whether PCRE2 knows a script by this name.
bool isScript(std::string_view name) {
  const std::string pattern = fmt::format("\\p{{sc:{}}}", name);
  int error = 0;
  PCRE2_SIZE where = 0;
  pcre2_code* code = pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &where, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

/// Translates one pattern, left to right.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : m_pattern(pattern) {}

  Result<std::string> run() {
    while (m_at < m_pattern.size()) {
      const char c = m_pattern[m_at];
      if (c == '\\') {
        if (!m_inClass) m_atom = m_out.size();
        MILLRACE_CHECK(escape());
      } else if (m_inClass) {
        MILLRACE_CHECK(classCharacter());
      } else if (c == '[') {
        m_inClass = true;
        m_atom = m_out.size();
        take(1);
        if (peek() == '^') take(1);
        if (peek() == ']') {
          m_out += "\\]"; // a literal in both, but Oniguruma warns
          ++m_at;
        }
      } else if (c == '(') {
        m_groups.push_back(m_out.size());
        if (peek(1) == '?')
          group();
        else
          take(1);
      } else if (c == ')') {
        if (!m_groups.empty()) {
          m_atom = m_groups.back();
          m_groups.pop_back();
        }
        take(1);
      } else if (c == '{') {
        interval();
      } else {
        if (std::string_view("*+?").find(c) == std::string_view::npos) m_atom = m_out.size();
        take(static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(c))));
      }
    }
    return std::move(m_out);
  }

 private:
  char peek(std::size_t ahead = 0) const { return m_at + ahead < m_pattern.size() ? m_pattern[m_at + ahead] : '\0'; }
  void take(std::size_t count) {
    m_out += m_pattern.substr(m_at, count);
    m_at += count;
  }

  void set(std::string_view members, bool negated) {
    m_out += m_inClass ? std::string(members) : fmt::format("[{}{}]", negated ? "^" : "", members);
    m_at += 2;
  }

  Status escape() {
    const char c = peek(1);
    switch (c) {
    case 's':
    case 'w':
    case 'h':
      set(c == 's' ? spaceSet : c == 'h' ? hexSet : m_inClass ? wordSetOfClass : wordSet, false);
      return {};
    case 'S':
    case 'W':
    case 'H':
      if (m_inClass && c != 'S')
        return badInput(fmt::format("\\{} inside [...] is not supported (at character {})", c, m_at));
      if (m_inClass)
        take(2); // differs from Oniguruma only for U+180E
      else
        set(c == 'S' ? spaceSet : c == 'W' ? wordSet : hexSet, true);
      return {};
    case 'b':
    case 'B':
      if (m_inClass) break; // a backspace
      // PCRE2's own boundaries go by its own word characters.
      m_out += c == 'b' ? fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", wordSet)
                        : fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", wordSet);
      m_at += 2;
      return {};
    case 'p':
    case 'P':
      return property();
    case 'Q':
    case 'E': // letters; PCRE2 would quote what stands between them
      m_out += c;
      m_at += 2;
      return {};
    case 'v': // one character, not PCRE2's kinds of vertical space
      m_out += "\\x{0B}";
      m_at += 2;
      return {};
    case 'u':
      m_out += fmt::format("\\x{{{}}}", m_pattern.substr(m_at + 2, 4));
      m_at += std::min<std::size_t>(6, m_pattern.size() - m_at);
      return {};
    default:
      break;
    }
    take(1);
    if (m_at < m_pattern.size()) take(static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(peek()))));
    return {};
  }

  /// \p{Han} means the script to Oniguruma, and to PCRE2 all that is used with it.
  Status property() {
    const std::size_t end = m_pattern.find('}', m_at);
    if (peek(2) != '{' || end == std::string_view::npos)
      return badInput(fmt::format("\\{} without {{name}} is not supported (at character {})", peek(1), m_at));
    std::string_view name = m_pattern.substr(m_at + 3, end - m_at - 3);
    const bool caret = name.starts_with('^');
    if (caret) name.remove_prefix(1);
    m_out += fmt::format("\\{}{{{}{}{}}}", peek(1), caret ? "^" : "", isScript(name) ? "sc:" : "", name);
    m_at = end + 1;
    return {};
  }

  /// {n,m} and what follows it: a + repeats the whole once more, and a ? after a plain {n} makes the whole optional,
  /// where PCRE2 reads a possessive and a lazy interval. {,m} begins at 0.
  void interval() {
    std::size_t end = m_at + 1;
    const auto digits = [&] {
      const std::size_t begin = end;
      while (end < m_pattern.size() && m_pattern[end] >= '0' && m_pattern[end] <= '9') ++end;
      return m_pattern.substr(begin, end - begin);
    };
    const std::string_view least = digits();
    const bool range = end < m_pattern.size() && m_pattern[end] == ',';
    if (range) ++end;
    const std::string_view most = range ? digits() : least;
    if (end >= m_pattern.size() || m_pattern[end] != '}' || (least.empty() && most.empty())) {
      m_atom = m_out.size();
      take(1); // a brace like any other character
      return;
    }
    const bool whole = m_pattern.substr(end + 1, 1) == "+" || (!range && m_pattern.substr(end + 1, 1) == "?");
    if (whole) m_out.insert(m_atom, "(?:");
    m_out += fmt::format("{{{}{}{}}}", least.empty() ? "0" : least, range ? "," : "", range ? most : "");
    if (whole) m_out += ')';
    m_at = end + 1;
  }

  Status classCharacter() {
    if (m_pattern.substr(m_at, 2) == "&&")
      return badInput(fmt::format("the class intersection && is not supported (at character {})", m_at));
    if (peek() == '[' && peek(1) != ':') {
      // Its members are those of the class around it as well.
      if (peek(1) == '^' || peek(1) == ']')
        return badInput(fmt::format("[{} inside a class is not supported (at character {})", peek(1), m_at));
      ++m_innerClasses;
      ++m_at;
      return {};
    }
    if (peek() == '[') {
      const std::size_t end = m_pattern.find(":]", m_at);
      if (end == std::string_view::npos)
        return badInput(fmt::format("[: without :] is not supported (at character {})", m_at));
      MILLRACE_CHECK(namedClass(m_pattern.substr(m_at + 2, end - m_at - 2)));
      m_at = end + 2;
      return {};
    }
    if (peek() == ']' && m_innerClasses > 0) {
      --m_innerClasses;
      m_innerEnd = ++m_at;
      return {};
    }
    if (peek() == ']') m_inClass = false;
    // A hyphen between two classes is one of the members, not a range.
    if (peek() == '-' && ((peek(1) == '[' && peek(2) != ':') || m_innerEnd == m_at)) m_out += '\\';
    take(1);
    return {};
  }

  /// [:name:], by the members that it has in Oniguruma.
  Status namedClass(std::string_view name) {
    constexpr std::pair<std::string_view, std::string_view> sets[] = {{"alpha", R"(\p{Alphabetic})"},
                                                                      {"digit", R"(\p{Nd})"},
                                                                      {"alnum", R"(\p{Alphabetic}\p{Nd})"},
                                                                      {"upper", R"(\p{Uppercase})"},
                                                                      {"lower", R"(\p{Lowercase})"},
                                                                      {"space", spaceSet},
                                                                      {"word", wordSetOfClass},
                                                                      {"xdigit", hexSet}};
    for (const auto& [known, members] : sets)
      if (known == name) {
        m_out += members;
        return {};
      }
    return badInput(fmt::format("[:{}:] is not supported (at character {})", name, m_at));
  }

  /// Ruby's m lets the dot match line feeds, which PCRE2 calls s.
  void group() {
    take(2);
    std::size_t end = m_at;
    while (end < m_pattern.size() && std::string_view("imx-").find(m_pattern[end]) != std::string_view::npos) ++end;
    if (end == m_pattern.size() || (m_pattern[end] != ':' && m_pattern[end] != ')')) return;
    for (; m_at < end; ++m_at) m_out += m_pattern[m_at] == 'm' ? 's' : m_pattern[m_at];
  }

  std::string_view m_pattern;
  std::size_t m_at = 0;
  bool m_inClass = false;
  int m_innerClasses = 0;            ///< open within the class
  std::size_t m_innerEnd = 0;        ///< behind the last one that was closed
  std::vector<std::size_t> m_groups; ///< where in the output the open groups begin
  std::size_t m_atom = 0;            ///< and what a quantifier would repeat
  std::string m_out;
};
} // namespace

struct RegexScratch::Impl {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(jitStackStart, jitStackLimit, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);

  Impl() {
    if (data == nullptr || context == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(context, matchLimit);
    pcre2_set_heap_limit(context, heapLimitKiB);
    if (stack != nullptr) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
    pcre2_match_data_free(data);
  }
};

RegexScratch::RegexScratch() : m_impl(std::make_unique<Impl>()) {}
RegexScratch::~RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;

struct Regex::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code;
};

Regex::Regex(std::string pattern, std::unique_ptr<Code> code)
    : m_pattern(std::move(pattern)), m_code(std::move(code)) {}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

Result<std::string> translateOniguruma(std::string_view pattern) {
  if (!isValidUtf8(pattern)) return badInput("the pattern is not valid UTF-8");
  return Translator(pattern).run();
}

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > patternLimit)
    return badInput(fmt::format("the pattern has {} bytes, at most {} are accepted", pattern.size(), patternLimit));
  MILLRACE_TRY(const std::string translated, translateOniguruma(pattern));

  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE where = 0;
  // In Ruby's syntax ^ and $ always match at line ends, hence MULTILINE.
  pcre2_code* code =
      pcre2_compile(units(translated), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &where, context.get());
  if (code == nullptr)
    return badInput(
        fmt::format("'{}' at character {}: {}", translated, static_cast<std::size_t>(where), pcreMessage(error)));
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); // without JIT (a hardened kernel) pcre2_match interprets
  return Regex(std::string(pattern), std::make_unique<Code>(code));
}

Result<Regex> Regex::literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}#-&").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return compile(pattern);
}

Result<Regex::Match> Regex::find(std::string_view text, std::size_t from, RegexScratch& scratch) const {
  RegexScratch::Impl& state = *scratch.m_impl;
  int outcome =
      pcre2_match(m_code->code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK, state.data, state.context);
  if (outcome == PCRE2_ERROR_JIT_STACKLIMIT)
    outcome = pcre2_match(m_code->code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, state.data,
                          state.context);
  if (outcome == PCRE2_ERROR_NOMATCH) return Match{};
  if (outcome < 0)
    return badInput(fmt::format("the pattern '{}' cannot be matched at byte {} of a text of {} bytes: {}", m_pattern,
                                from, text.size(), pcreMessage(outcome)));
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(state.data);
  // \K inside a look-ahead could end a match before it begins.
  if (bounds[0] > bounds[1] || bounds[0] < from)
    return badInput(fmt::format("the pattern '{}' gives a match that ends before it begins", m_pattern));
  return Match{true, bounds[0], bounds[1]};
}

Result<Regex::Match> RegexMatches::next() {
  while (m_from <= m_text.size()) {
    MILLRACE_TRY(const Regex::Match match, m_regex.find(m_text, m_from, m_scratch));
    if (!match.found) break;
    m_from = match.end;
    if (match.begin == match.end) {
      // Step over one character, so that the search goes on.
      m_from += match.end < m_text.size() ? utf8Length(static_cast<unsigned char>(m_text[match.end])) : 1;
      if (match.end == m_lastEnd) continue;
    }
    m_lastEnd = match.end;
    return match;
  }
  m_from = m_text.size() + 1;
  return Regex::Match{};
}

} // namespace millrace

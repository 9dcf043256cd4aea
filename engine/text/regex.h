// Regular expressions of tokenizer files, which are written for Oniguruma: translated to PCRE2 and run by its JIT with
// limits, since patterns and texts come from outside. A Regex is immutable and any thread may use it; what a search
// writes to lives in a RegexScratch, one a thread.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace millrace {

class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;

 private:
  friend class Regex;
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

class Regex {
 public:
  struct Match {
    bool found = false;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// Errors say what is wrong with the pattern and where, or which Oniguruma feature is not supported.
  static Result<Regex> compile(std::string_view pattern);
  /// Matches exactly this text.
  static Result<Regex> literal(std::string_view text);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// The first match at or after `from`. The text must be valid UTF-8. Fails when the pattern needs more steps or
  /// memory than any sound pattern does.
  Result<Match> find(std::string_view text, std::size_t from, RegexScratch& scratch) const;

  const std::string& pattern() const { return m_pattern; }

 private:
  struct Code;
  Regex(std::string pattern, std::unique_ptr<Code> code);

  std::string m_pattern;
  std::unique_ptr<Code> m_code;
};

/// Walks over all matches, left to right, without overlap; an empty match right behind the one before is passed over.
class RegexMatches {
 public:
  RegexMatches(const Regex& regex, std::string_view text, RegexScratch& scratch)
      : m_regex(regex), m_text(text), m_scratch(scratch) {}
  /// found is false at the end.
  Result<Regex::Match> next();

 private:
  const Regex& m_regex;
  std::string_view m_text;
  RegexScratch& m_scratch;
  std::size_t m_from = 0;
  std::size_t m_lastEnd = std::string_view::npos;
};

/// An Oniguruma (Ruby syntax) pattern in PCRE2's words; exposed for tests.
Result<std::string> translateOniguruma(std::string_view pattern);

} // namespace millrace

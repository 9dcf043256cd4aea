// What becomes of the matches of a splitting pattern. Pure functions.
#pragma once

#include "text/pre_tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

enum class SplitBehavior { Isolated, Removed, Contiguous, MergedWithPrevious, MergedWithNext };

Result<SplitBehavior> parseSplitBehavior(const std::string& name, const std::string& where);

/// A stretch of the text that the pattern matched or that lies between two matches. In order, covering the text.
struct SplitSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool isMatch = false;
};

/// Appends the pieces that the behavior makes of the spans; spans are used up.
void appendSplit(const PieceList::Piece& piece, std::vector<SplitSpan>& spans, SplitBehavior behavior,
                 std::vector<PieceList::Piece>& out);

/// The spans of a property of single characters.
template <class Predicate>
void spansOfCharacters(std::string_view text, Predicate&& matches, std::vector<SplitSpan>& spans);

/// The spans of a pattern; with `invert`, matches and the stretches between them change roles.
Status spansOfRegex(std::string_view text, const Regex& regex, bool invert, RegexScratch& scratch,
                    std::vector<SplitSpan>& spans);

} // namespace millrace

#include "text/utf8.h"

template <class Predicate>
void millrace::spansOfCharacters(std::string_view text, Predicate&& matches, std::vector<SplitSpan>& spans) {
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int length = utf8Length(static_cast<unsigned char>(text[at]));
    const std::size_t next = at + static_cast<std::size_t>(length);
    if (matches(readUtf8(text.data() + at, length))) {
      if (from < at) spans.push_back({from, at, false});
      spans.push_back({at, next, true});
      from = next;
    }
    at = next;
  }
  if (from < text.size()) spans.push_back({from, text.size(), false});
}

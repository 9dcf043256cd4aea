#include "text/split.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

Result<SplitBehavior> parseSplitBehavior(const std::string& name, const std::string& where) {
  if (name == "Isolated") return SplitBehavior::Isolated;
  if (name == "Removed") return SplitBehavior::Removed;
  if (name == "Contiguous") return SplitBehavior::Contiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::MergedWithNext;
  return badInput(fmt::format("{}.behavior: '{}' is not supported; supported are Isolated, Removed, Contiguous, "
                              "MergedWithPrevious, MergedWithNext",
                              where, name));
}

namespace {

/// Joins neighbouring spans: a match that follows a non-match joins it, in the order of the walk.
template <class Walk, class Extend>
std::vector<SplitSpan> joinMatches(Walk begin, Walk end, Extend&& extend) {
  std::vector<SplitSpan> joined;
  bool previousMatch = false;
  for (Walk span = begin; span != end; ++span) {
    if (span->isMatch && !previousMatch && !joined.empty())
      extend(joined.back(), *span);
    else
      joined.push_back({span->begin, span->end, false});
    previousMatch = span->isMatch;
  }
  return joined;
}

std::vector<SplitSpan> applyBehavior(std::vector<SplitSpan>& spans, SplitBehavior behavior) {
  switch (behavior) {
  case SplitBehavior::Removed:
    return std::move(spans);
  case SplitBehavior::Isolated:
    for (SplitSpan& span : spans) span.isMatch = false;
    return std::move(spans);
  case SplitBehavior::Contiguous: {
    std::vector<SplitSpan> joined;
    bool previousMatch = false;
    for (const SplitSpan& span : spans) {
      if (span.isMatch == previousMatch && !joined.empty())
        joined.back().end = span.end;
      else
        joined.push_back({span.begin, span.end, false});
      previousMatch = span.isMatch;
    }
    return joined;
  }
  case SplitBehavior::MergedWithPrevious:
    return joinMatches(spans.begin(), spans.end(), [](SplitSpan& to, const SplitSpan& from) { to.end = from.end; });
  case SplitBehavior::MergedWithNext: {
    auto joined =
        joinMatches(spans.rbegin(), spans.rend(), [](SplitSpan& to, const SplitSpan& from) { to.begin = from.begin; });
    std::reverse(joined.begin(), joined.end());
    return joined;
  }
  }
  return {};
}

} // namespace

void appendSplit(const PieceList::Piece& piece, std::vector<SplitSpan>& spans, SplitBehavior behavior,
                 std::vector<PieceList::Piece>& out) {
  spans = applyBehavior(spans, behavior);
  for (const SplitSpan& span : spans)
    if (!span.isMatch && span.begin < span.end)
      out.push_back({piece.text.substr(span.begin, span.end - span.begin), piece.atStart && span.begin == 0});
  spans.clear();
}

Status spansOfRegex(std::string_view text, const Regex& regex, bool invert, RegexScratch& scratch,
                    std::vector<SplitSpan>& spans) {
  std::size_t done = 0;
  RegexMatches matches(regex, text, scratch);
  for (;;) {
    MILLRACE_TRY(const Regex::Match match, matches.next());
    if (!match.found) break;
    if (done < match.begin) spans.push_back({done, match.begin, invert});
    spans.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done < text.size()) spans.push_back({done, text.size(), invert});
  return {};
}

} // namespace millrace

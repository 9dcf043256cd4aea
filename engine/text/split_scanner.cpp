#include "text/split_scanner.h"

namespace millrace {

namespace {

/// The end of 's 't 're 've 'm 'll 'd at p, or p itself.
const char* contraction(const char* p, const char* end, bool anyCase) {
  if (*p != '\'' || end - p < 2) return p;
  const auto lower = [anyCase](char c) { return anyCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const char first = lower(p[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return p + 2;
  // U+017F, the long s, is an s to a search that ignores case.
  if (anyCase && end - p >= 3 && p[1] == '\xC5' && p[2] == '\xBF') return p + 3;
  if (end - p < 3) return p;
  const char second = lower(p[2]);
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
    return p + 3;
  return p;
}

bool isLineBreak(char c) {
  return c == '\r' || c == '\n';
}

} // namespace

std::string_view knownSplitPattern(KnownSplit split) {
  switch (split) {
  case KnownSplit::Gpt2:
    return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  case KnownSplit::Cl100kDigits:
    return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  case KnownSplit::Cl100kDigit:
    return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  }
  return {};
}

std::optional<KnownSplit> findKnownSplit(std::string_view pattern) {
  for (const KnownSplit split : {KnownSplit::Gpt2, KnownSplit::Cl100kDigits, KnownSplit::Cl100kDigit})
    if (pattern == knownSplitPattern(split)) return split;
  return std::nullopt;
}

/// \s+(?!\S)|\s+, and before it \s*[\r\n]+ where line breaks end a piece. There is white space at p.
const char* SplitScanner::whitespace(const char* p, bool lineBreaksEndIt) const {
  const char* last = p;        // the last character of the run
  const char* behindBreak = p; // behind the last line break of the run
  const char* q = p;
  while (q < m_end) {
    const Char c = look(q);
    if (c.kind != CharKind::Space) break;
    last = q;
    if (isLineBreak(*q)) behindBreak = q + 1;
    q += c.length;
  }
  if (lineBreaksEndIt && behindBreak != p) return behindBreak;
  // The last character of a run goes with what follows, unless it is alone.
  return q == m_end || last == p ? q : last;
}

const char* SplitScanner::gpt2(const char* p) const {
  if (const char* end = contraction(p, m_end, false); end != p) return end;
  const Char first = look(p);
  const char* const next = p + first.length;
  if (first.kind != CharKind::Space) return run(next, first.kind);
  if (*p == ' ' && next < m_end) {
    const Char second = look(next);
    if (second.kind != CharKind::Space) return run(next + second.length, second.kind);
  }
  return whitespace(p, false);
}

const char* SplitScanner::cl100k(const char* p) const {
  if (const char* end = contraction(p, m_end, true); end != p) return end;
  const Char first = look(p);
  const char* const next = p + first.length;
  if (first.kind == CharKind::Letter) return run(next, CharKind::Letter);
  if (first.kind == CharKind::Number) {
    const char* end = next;
    for (int digits = m_split == KnownSplit::Cl100kDigits ? 2 : 0; digits > 0 && end < m_end; --digits) {
      const Char c = look(end);
      if (c.kind != CharKind::Number) break;
      end += c.length;
    }
    return end;
  }
  if (next < m_end) {
    const Char second = look(next);
    if (second.kind == CharKind::Letter && !isLineBreak(*p)) return run(next + second.length, CharKind::Letter);
    if (first.kind == CharKind::Space && (*p != ' ' || second.kind != CharKind::Other)) return whitespace(p, true);
  } else if (first.kind == CharKind::Space) {
    return next;
  }
  // ` ?[^\s\p{L}\p{N}]+[\r\n]*`
  const char* end = run(next, CharKind::Other);
  while (end < m_end && isLineBreak(*end)) ++end;
  return end;
}

} // namespace millrace

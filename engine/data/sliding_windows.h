// A text of tokens as overlapping rows, for perplexity as papers report it: each window of `context` tokens begins
// `stride` tokens behind the last, and only targets that no window before had are counted, so that all but those of the
// first window are predicted from at least context - stride tokens. With stride = context windows do not overlap, and
// the first token of each is no target. One thread.
#pragma once

#include "data/batch.h"

namespace millrace {

class SlidingWindows {
 public:
  /// context >= 1, 1 <= stride <= context.
  SlidingWindows(std::vector<std::int32_t> tokens, std::int64_t context, std::int64_t stride);

  /// How many there are; 0 for less than two tokens.
  std::int64_t windows() const { return m_windows; }
  /// Windows [first, first + rows) of them, a row each; behind the text a row is filled up.
  MicroBatch batch(std::int64_t first, std::int64_t rows) const;

 private:
  std::vector<std::int32_t> m_tokens;
  std::int64_t m_context;
  std::int64_t m_stride;
  std::int64_t m_windows;
};

} // namespace millrace

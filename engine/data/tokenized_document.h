// What passes from a document's tokenizing to the cache, beside its token ids.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace {

/// Tokens [begin, end) of a document that are learnt from (as targets).
struct TokenRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const TokenRange&) const = default;
};

/// What stands in the cache beside a document's tokens.
struct DocumentFacts {
  std::uint64_t hash = 0; ///< XXH3-64 of its text
  std::uint64_t textBytes = 0;
  std::uint16_t set = 0;          ///< index into the cache's names of sets; 0 is the unnamed set
  bool wholeLearnt = true;        ///< else `learnt` says which tokens are targets
  std::vector<TokenRange> learnt; ///< ascending, not touching; empty where wholeLearnt
};

/// A document as tokens.
struct TokenizedDocument {
  std::vector<std::int32_t> ids;
  DocumentFacts facts;
};

/// What became of conversations that are not taken as they are.
struct ConversationCounts {
  std::int64_t truncated = 0;     ///< over-long, or parts of such: their ends are missing
  std::int64_t split = 0;         ///< over-long, taken in parts
  std::int64_t dropped = 0;       ///< over-long, left out
  std::int64_t nothingLearnt = 0; ///< left out, since no token of them is learnt
  bool operator==(const ConversationCounts&) const = default;
  ConversationCounts& operator+=(const ConversationCounts& other) {
    truncated += other.truncated;
    split += other.split;
    dropped += other.dropped;
    nothingLearnt += other.nothingLearnt;
    return *this;
  }
};

} // namespace millrace

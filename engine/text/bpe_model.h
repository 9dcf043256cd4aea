// The BPE model of a tokenizer.json: vocabulary, ranked merges, and the encoding of one piece of text. Immutable once
// built, any thread; what an encoding writes to lives in a BpeScratch, one a thread.
#pragma once

#include "base/result.h"
#include "text/pair_table.h"
#include "text/word_cache.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace millrace {

/// Lets maps keyed by strings be searched with views.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

struct BpeOptions {
  std::string unknownToken; ///< empty: what the vocabulary lacks is dropped
  bool fuseUnknown = false;
  bool byteFallback = false; ///< what the vocabulary lacks becomes <0xNN> tokens
  bool ignoreMerges = false; ///< a piece that is in the vocabulary is one token, whatever the merges give
  std::string continuingPrefix;
  std::string wordSuffix;
  bool onBytes = false; ///< pieces are raw bytes and the vocabulary is in the byte-level alphabet
};

class BpeScratch {
  friend class BpeModel;
  struct Symbol {
    std::int32_t id;
    std::int32_t previous;
    std::int32_t next; ///< -1: last; -2: merged away
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t position;
    std::int32_t merged;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  WordCache m_words;
  LongPieceCache m_longPieces; ///< what the words' has no room for
  std::vector<std::int32_t> m_ids;
  std::vector<std::uint64_t> m_ranks; ///< rank << 32 | merged id of each neighbouring pair
  std::vector<Symbol> m_symbols;
  std::vector<Candidate> m_heap;
};

class BpeModel {
 public:
  /// vocabulary: tokens with their ids, each id and each token once; merges: in order of rank. `where` names the model
  /// in errors.
  static Result<BpeModel> build(std::vector<std::pair<std::string, std::int32_t>> vocabulary,
                                const std::vector<std::pair<std::string, std::string>>& merges, BpeOptions options,
                                const std::string& where);

  /// Appends the ids of one piece (valid UTF-8, or with onBytes any bytes), in O(n log n).
  void encode(std::string_view piece, BpeScratch& scratch, std::vector<std::int32_t>& out) const;

  std::optional<std::int32_t> idOf(std::string_view token) const;
  /// By id; ids without a token are empty.
  const std::vector<std::string>& tokens() const { return m_tokens; }
  std::int64_t size() const { return static_cast<std::int64_t>(m_ids.size()); }
  const BpeOptions& options() const { return m_options; }

 private:
  BpeModel() = default;
  void findJoins(const std::vector<std::pair<std::string, std::string>>& merges);
  std::size_t wordEnd(std::string_view piece, std::size_t begin) const;
  void encodeWord(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& out) const;
  /// The ids of a piece that no cache knows, in the scratch.
  void encodeAnew(std::string_view piece, BpeScratch& scratch) const;
  void appendSymbols(std::string_view piece, std::vector<std::int32_t>& ids) const;
  void appendSymbolsOfBytes(std::string_view piece, std::vector<std::int32_t>& ids) const;
  void mergeShort(BpeScratch& scratch) const;
  void mergeLong(BpeScratch& scratch) const;

  BpeOptions m_options;
  std::vector<std::string> m_tokens;
  TextMap<std::int32_t> m_ids;
  TextMap<std::int32_t> m_idsByBytes; ///< onBytes with ignoreMerges: what whole pieces are looked up in
  PairTable m_merges;
  std::array<std::int32_t, 256> m_byteIds = {};     ///< onBytes: the symbol of each byte, -1: none
  std::array<std::int32_t, 256> m_fallbackIds = {}; ///< <0xNN>, -1: none
  std::array<std::int32_t, 128> m_asciiIds = {};    ///< single ASCII characters, -1: none
  std::int32_t m_unknown = -1;
  // Where texts come in one piece, as in SentencePiece-style files: what some merge joins with what may stand behind
  // it.
  static constexpr std::size_t markClass = 128;  ///< of the mark that stands for a space
  static constexpr std::size_t otherClass = 129; ///< of what is neither that nor ASCII
  bool m_cuts = false;                           ///< places that no merge reaches over are looked for
  std::array<std::bitset<130>, 130> m_joins;     ///< by ASCII code or class
};

} // namespace millrace

#include "text/bpe_model.h"

#include "text/byte_level.h"
#include "text/utf8.h"

#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <unordered_set>

namespace millrace {

namespace {
constexpr std::size_t shortPiece = 24; // up to here looking through all pairs is faster than a heap
constexpr std::int32_t mergedAway = -2;
constexpr std::string_view wordMark = "\xE2\x96\x81"; // U+2581, how SentencePiece writes a space

std::string shownToken(std::string_view token) {
  std::string shown;
  appendRepairedUtf8(token.substr(0, 60), shown);
  return fmt::format("'{}'", shown);
}
} // namespace

Result<BpeModel> BpeModel::build(std::vector<std::pair<std::string, std::int32_t>> vocabulary,
                                 const std::vector<std::pair<std::string, std::string>>& merges, BpeOptions options,
                                 const std::string& where) {
  if (vocabulary.empty()) return badInput(fmt::format("{}.vocab: is empty", where));
  BpeModel model;
  model.m_options = std::move(options);
  const auto bound = static_cast<std::int32_t>(std::min<std::size_t>(8 * vocabulary.size() + 4096, INT_MAX));
  std::int32_t largest = 0;
  for (const auto& [token, id] : vocabulary) {
    if (id < 0 || id >= bound)
      return badInput(fmt::format("{}.vocab: {} has the id {}, expected 0 to {} for {} tokens", where,
                                  shownToken(token), id, bound - 1, vocabulary.size()));
    largest = std::max(largest, id);
  }
  model.m_tokens.resize(static_cast<std::size_t>(largest) + 1);
  std::vector<bool> taken(model.m_tokens.size());
  model.m_ids.reserve(vocabulary.size());
  for (auto& [token, id] : vocabulary) {
    const auto slot = static_cast<std::size_t>(id);
    if (taken[slot])
      return badInput(fmt::format("{}.vocab: {} and {} have the same id {}", where, shownToken(model.m_tokens[slot]),
                                  shownToken(token), id));
    taken[slot] = true;
    model.m_tokens[slot] = token;
    if (!model.m_ids.emplace(std::move(token), id).second)
      return badInput(fmt::format("{}.vocab: {} appears twice", where, shownToken(model.m_tokens[slot])));
  }

  const BpeOptions& given = model.m_options;
  model.m_cuts = !given.onBytes && !given.ignoreMerges && given.continuingPrefix.empty() && given.wordSuffix.empty();
  model.m_merges = PairTable(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const std::size_t skip = model.m_options.continuingPrefix.size();
    if (right.size() < skip)
      return badInput(fmt::format("{}.merges[{}]: {} lacks the prefix '{}'", where, rank, shownToken(right),
                                  model.m_options.continuingPrefix));
    const std::string merged = left + right.substr(skip);
    const auto a = model.idOf(left);
    const auto b = model.idOf(right);
    const auto c = model.idOf(merged);
    if (!a || !b || !c)
      return badInput(fmt::format("{}.merges[{}]: {} is not in the vocabulary", where, rank,
                                  shownToken(!a   ? left
                                             : !b ? right
                                                  : merged)));
    model.m_merges.insert(*a, *b, static_cast<std::uint32_t>(rank), *c);
  }

  if (!model.m_options.unknownToken.empty()) {
    const auto unknown = model.idOf(model.m_options.unknownToken);
    if (!unknown)
      return badInput(
          fmt::format("{}.unk_token: {} is not in the vocabulary", where, shownToken(model.m_options.unknownToken)));
    model.m_unknown = *unknown;
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto slot = static_cast<std::size_t>(byte);
    std::string character;
    appendUtf8(byteLevelCharacter(static_cast<unsigned char>(byte)), character);
    model.m_byteIds[slot] = model.idOf(character).value_or(-1);
    model.m_fallbackIds[slot] = model.idOf(fmt::format("<0x{:02X}>", byte)).value_or(-1);
    if (byte < 128) model.m_asciiIds[slot] = model.idOf(std::string(1, static_cast<char>(byte))).value_or(-1);
  }
  if (model.m_cuts) model.findJoins(merges);
  if (model.m_options.onBytes && model.m_options.ignoreMerges)
    for (const auto& [token, id] : model.m_ids)
      if (auto bytes = byteLevelBytes(token)) model.m_idsByBytes.emplace(std::move(*bytes), id);
  return model;
}

/// Errs towards joining: between other characters than ASCII and the mark, and where it is not what a text shows that
/// merges.
void BpeModel::findJoins(const std::vector<std::pair<std::string, std::string>>& merges) {
  const bool hasMark = idOf(wordMark).has_value();
  const auto classOf = [&](std::string_view side, bool last) -> std::size_t {
    const auto c = static_cast<unsigned char>(last ? side.back() : side.front());
    if (c < 128) return c;
    return hasMark && (last ? side.ends_with(wordMark) : side.starts_with(wordMark)) ? markClass : otherClass;
  };
  const auto joinsAll = [this](std::size_t c) {
    m_joins[c].set();
    for (auto& joined : m_joins) joined.set(c);
  };
  std::unordered_set<std::string_view> merging;
  for (const auto& [left, right] : merges) {
    if (left.empty() || right.empty()) continue;
    m_joins[classOf(left, true)].set(classOf(right, false));
    merging.insert({left, right});
  }
  const auto mayMerge = [&](std::int32_t id) {
    return id >= 0 && merging.contains(m_tokens[static_cast<std::size_t>(id)]);
  };
  // Characters without a token of their own become those of their bytes, which may merge, or unknown ones, which may
  // fuse with their neighbours.
  if (!hasMark) joinsAll(markClass);
  const bool bytesMerge = std::any_of(m_fallbackIds.begin(), m_fallbackIds.end(), mayMerge);
  const bool allBytes = m_options.byteFallback && std::none_of(m_fallbackIds.begin(), m_fallbackIds.end(),
                                                               [](std::int32_t id) { return id < 0; });
  for (std::size_t c = 0; c < 128; ++c)
    if (m_asciiIds[c] < 0 && (!allBytes || bytesMerge)) joinsAll(c);
  for (std::size_t c = 0; c < m_joins.size(); ++c) {
    if (c != markClass || bytesMerge) m_joins[otherClass].set(c);
    m_joins[c].set(otherClass);
  }
}

std::optional<std::int32_t> BpeModel::idOf(std::string_view token) const {
  const auto entry = m_ids.find(token);
  if (entry == m_ids.end()) return std::nullopt;
  return entry->second;
}

void BpeModel::encode(std::string_view piece, BpeScratch& scratch, std::vector<std::int32_t>& out) const {
  if (!m_cuts) return encodeWord(piece, scratch, out);
  // SentencePiece-style files leave a text in one piece. Cut where no merge reaches over, its parts give the same ids,
  // and most of them are remembered.
  for (std::size_t begin = 0; begin < piece.size();) {
    const std::size_t end = wordEnd(piece, begin);
    encodeWord(piece.substr(begin, end - begin), scratch, out);
    begin = end;
  }
}

std::size_t BpeModel::wordEnd(std::string_view piece, std::size_t begin) const {
  std::size_t before = otherClass;
  for (std::size_t at = begin; at < piece.size();) {
    const auto c = static_cast<unsigned char>(piece[at]);
    const bool mark = c >= 128 && piece.substr(at).starts_with(wordMark);
    const std::size_t now = c < 128 ? c : mark ? markClass : otherClass;
    if (at > begin && !m_joins[before][now]) return at;
    before = now;
    at += mark ? wordMark.size() : 1;
  }
  return piece.size();
}

void BpeModel::encodeWord(std::string_view piece, BpeScratch& scratch, std::vector<std::int32_t>& out) const {
  if (piece.empty()) return;
  const auto append = [&out](std::span<const std::int32_t> ids) { out.insert(out.end(), ids.begin(), ids.end()); };
  WordCache::Entry* const word = WordCache::takes(piece) ? &scratch.m_words.slot(piece) : nullptr;
  if (word && word->holds(piece)) return append(word->tokens());
  LongPieceCache::Entry* const longer = LongPieceCache::takes(piece) ? &scratch.m_longPieces.slot(piece) : nullptr;
  if (longer && longer->holds(piece)) return append(longer->tokens());
  encodeAnew(piece, scratch);
  const bool kept = word && WordCache::fill(*word, piece, scratch.m_ids);
  if (longer && !kept) LongPieceCache::fill(*longer, piece, scratch.m_ids);
  append(scratch.m_ids);
}

void BpeModel::encodeAnew(std::string_view piece, BpeScratch& scratch) const {
  std::vector<std::int32_t>& ids = scratch.m_ids;
  ids.clear();
  const TextMap<std::int32_t>& whole = m_options.onBytes ? m_idsByBytes : m_ids;
  if (const auto known = m_options.ignoreMerges ? whole.find(piece) : whole.end(); known != whole.end()) {
    ids.push_back(known->second);
    return;
  }
  if (m_options.onBytes)
    appendSymbolsOfBytes(piece, ids);
  else
    appendSymbols(piece, ids);
  if (ids.size() <= shortPiece)
    mergeShort(scratch);
  else
    mergeLong(scratch);
}

/// The vocabulary lacks a byte only in damaged or unusual files; what Hugging Face does then is kept.
void BpeModel::appendSymbolsOfBytes(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const bool plain =
      m_options.continuingPrefix.empty() && m_options.wordSuffix.empty() && m_unknown < 0 && !m_options.byteFallback;
  if (!plain) {
    std::string written;
    appendByteLevel(piece, written);
    appendSymbols(written, ids);
    return;
  }
  for (const char c : piece) {
    const std::int32_t id = m_byteIds[static_cast<unsigned char>(c)];
    if (id >= 0) ids.push_back(id);
  }
}

void BpeModel::appendSymbols(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const bool decorated = !m_options.continuingPrefix.empty() || !m_options.wordSuffix.empty();
  bool unknownWaits = false; // an unknown token that following unknown characters may fuse with
  std::string decoratedText;
  for (std::size_t at = 0; at < piece.size();) {
    const int length = utf8Length(static_cast<unsigned char>(piece[at]));
    std::string_view character = piece.substr(at, static_cast<std::size_t>(length));
    const bool first = at == 0;
    at += static_cast<std::size_t>(length);
    std::int32_t id = -1;
    if (decorated) {
      decoratedText = first ? "" : m_options.continuingPrefix;
      decoratedText += character;
      if (at >= piece.size()) decoratedText += m_options.wordSuffix;
      character = decoratedText;
      id = idOf(character).value_or(-1);
    } else {
      id = length == 1 ? m_asciiIds[static_cast<unsigned char>(character[0])] : idOf(character).value_or(-1);
    }
    if (id >= 0) {
      if (unknownWaits) ids.push_back(m_unknown);
      unknownWaits = false;
      ids.push_back(id);
      continue;
    }
    if (m_options.byteFallback) {
      const auto missing = [&](char c) { return m_fallbackIds[static_cast<unsigned char>(c)] < 0; };
      if (std::none_of(character.begin(), character.end(), missing)) {
        // An unknown token that still waits is written behind these bytes: so does Hugging Face.
        for (const char c : character) ids.push_back(m_fallbackIds[static_cast<unsigned char>(c)]);
        continue;
      }
    }
    if (m_unknown < 0) continue;
    if (unknownWaits && !m_options.fuseUnknown) ids.push_back(m_unknown);
    unknownWaits = true;
  }
  if (unknownWaits) ids.push_back(m_unknown);
}

void BpeModel::mergeShort(BpeScratch& scratch) const {
  std::vector<std::int32_t>& ids = scratch.m_ids;
  std::vector<std::uint64_t>& ranks = scratch.m_ranks;
  const std::size_t n = ids.size();
  if (n < 2) return;
  ranks.resize(n - 1);
  for (std::size_t i = 0; i + 1 < n; ++i) ranks[i] = m_merges.find(ids[i], ids[i + 1]);
  std::size_t count = n;
  while (count > 1) {
    const auto best =
        static_cast<std::size_t>(std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count - 1),
                                                  [](std::uint64_t a, std::uint64_t b) { return a >> 32 < b >> 32; }) -
                                 ranks.begin());
    if (ranks[best] == PairTable::none) break;
    ids[best] = static_cast<std::int32_t>(ranks[best] & 0xFFFFFFFFu);
    std::copy(ids.begin() + static_cast<std::ptrdiff_t>(best) + 2, ids.begin() + static_cast<std::ptrdiff_t>(count),
              ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(ranks.begin() + static_cast<std::ptrdiff_t>(best) + 1,
              ranks.begin() + static_cast<std::ptrdiff_t>(count) - 1,
              ranks.begin() + static_cast<std::ptrdiff_t>(best));
    --count;
    if (best > 0) ranks[best - 1] = m_merges.find(ids[best - 1], ids[best]);
    if (best + 1 < count) ranks[best] = m_merges.find(ids[best], ids[best + 1]);
  }
  ids.resize(count);
}

/// A linked list of symbols and a heap of candidate merges; entries that no longer hold are passed over.
void BpeModel::mergeLong(BpeScratch& scratch) const {
  std::vector<std::int32_t>& ids = scratch.m_ids;
  auto& symbols = scratch.m_symbols;
  auto& heap = scratch.m_heap;
  const auto n = static_cast<std::int32_t>(ids.size());
  symbols.resize(ids.size());
  heap.clear();
  for (std::int32_t i = 0; i < n; ++i)
    symbols[static_cast<std::size_t>(i)] = {ids[static_cast<std::size_t>(i)], i - 1, i + 1 < n ? i + 1 : -1};
  const auto symbol = [&](std::int32_t i) -> BpeScratch::Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto candidate = [&](std::int32_t left) -> std::optional<BpeScratch::Candidate> {
    const std::uint64_t found = m_merges.find(symbol(left).id, symbol(symbol(left).next).id);
    if (found == PairTable::none) return std::nullopt;
    return BpeScratch::Candidate{static_cast<std::uint32_t>(found >> 32), left,
                                 static_cast<std::int32_t>(found & 0xFFFFFFFFu)};
  };
  for (std::int32_t i = 0; i + 1 < n; ++i)
    if (const auto c = candidate(i)) heap.push_back(*c);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto offer = [&](std::int32_t left) {
    if (const auto c = candidate(left)) {
      heap.push_back(*c);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const BpeScratch::Candidate top = heap.back();
    heap.pop_back();
    BpeScratch::Symbol& left = symbol(top.position);
    if (left.next < 0) continue; // merged away, or the last one now
    const std::uint64_t now = m_merges.find(left.id, symbol(left.next).id);
    if (now == PairTable::none || static_cast<std::int32_t>(now & 0xFFFFFFFFu) != top.merged) continue;
    BpeScratch::Symbol& right = symbol(left.next);
    left.id = top.merged;
    left.next = right.next;
    right.next = mergedAway;
    if (left.next >= 0) {
      symbol(left.next).previous = top.position;
      offer(top.position);
    }
    if (left.previous >= 0) offer(left.previous);
  }
  ids.clear();
  for (std::int32_t i = n > 0 ? 0 : -1; i >= 0; i = symbol(i).next) ids.push_back(symbol(i).id);
}

} // namespace millrace

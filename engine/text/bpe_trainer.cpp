#include "text/bpe_trainer.h"

#include "text/byte_level.h"
#include "text/split_scanner.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <queue>

namespace millrace {

namespace {

constexpr std::int64_t bytesInAlphabet = 256;

using Pair = std::uint64_t; // left id << 32 | right id

Pair makePair(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
std::int32_t leftOf(Pair pair) {
  return static_cast<std::int32_t>(pair >> 32);
}
std::int32_t rightOf(Pair pair) {
  return static_cast<std::int32_t>(pair & 0xFFFFFFFFu);
}

struct PairHash {
  std::size_t operator()(Pair pair) const {
    return static_cast<std::size_t>((pair ^ pair >> 31) * 0x9E3779B97F4A7C15u >> 7);
  }
};

/// Sorted by count, then by the lower ids.
struct Candidate {
  std::int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

struct PairState {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words; ///< where the pair stands or stood; a word may appear twice
};

/// The words while they are merged, and the counts of their pairs.
class Merger {
 public:
  /// byteIds: the id of each byte.
  Merger(const std::vector<std::pair<std::string_view, std::int64_t>>& words,
         const std::array<std::int32_t, 256>& byteIds) {
    for (const auto& [text, count] : words) {
      const auto index = static_cast<std::uint32_t>(m_words.size());
      Word word{m_symbols.size(), static_cast<std::uint32_t>(text.size()), count};
      for (const char c : text) m_symbols.push_back(byteIds[static_cast<unsigned char>(c)]);
      for (std::uint32_t i = 0; i + 1 < word.length; ++i) {
        PairState& state = m_pairs[makePair(m_symbols[word.begin + i], m_symbols[word.begin + i + 1])];
        state.count += count;
        if (state.words.empty() || state.words.back() != index) state.words.push_back(index);
      }
      m_words.push_back(word);
    }
    for (const auto& [pair, state] : m_pairs) m_queue.push({state.count, pair});
  }

  /// The most frequent pair and its count; a count of 0: none is left.
  Candidate best() {
    while (!m_queue.empty()) {
      Candidate top = m_queue.top();
      const std::int64_t now = m_pairs[top.pair].count;
      if (top.count == now) return top;
      m_queue.pop(); // the count has fallen or risen since
      if (now > 0 && now < top.count) m_queue.push({now, top.pair});
    }
    return {0, 0};
  }

  void merge(Pair pair, std::int32_t merged) {
    m_queue.pop();
    std::vector<std::uint32_t> words = std::move(m_pairs[pair].words);
    m_pairs.erase(pair);
    m_touched.clear();
    for (const std::uint32_t index : words) mergeWord(index, pair, merged);
    std::sort(m_touched.begin(), m_touched.end());
    m_touched.erase(std::unique(m_touched.begin(), m_touched.end()), m_touched.end());
    for (const Pair risen : m_touched)
      if (const auto entry = m_pairs.find(risen); entry != m_pairs.end() && entry->second.count > 0)
        m_queue.push({entry->second.count, risen});
  }

 private:
  struct Word {
    std::size_t begin;
    std::uint32_t length;
    std::int64_t count;
  };

  void mergeWord(std::uint32_t index, Pair pair, std::int32_t merged) {
    Word& word = m_words[index];
    std::int32_t* const symbols = m_symbols.data() + word.begin;
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < word.length; ++i, ++out) {
      const bool hit = i + 1 < word.length && symbols[i] == leftOf(pair) && symbols[i + 1] == rightOf(pair);
      if (!hit) {
        symbols[out] = symbols[i];
        continue;
      }
      if (out > 0) {
        change(makePair(symbols[out - 1], leftOf(pair)), pair, index, -word.count);
        change(makePair(symbols[out - 1], merged), pair, index, word.count);
      }
      if (i + 2 < word.length) {
        change(makePair(rightOf(pair), symbols[i + 2]), pair, index, -word.count);
        change(makePair(merged, symbols[i + 2]), pair, index, word.count);
      }
      symbols[out] = merged;
      ++i;
    }
    word.length = out;
  }

  void change(Pair changed, Pair merging, std::uint32_t word, std::int64_t by) {
    if (changed == merging) return; // it is used up
    PairState& state = m_pairs[changed];
    state.count += by;
    if (by < 0) return;
    if (state.words.empty() || state.words.back() != word) state.words.push_back(word);
    m_touched.push_back(changed);
  }

  std::vector<std::int32_t> m_symbols;
  std::vector<Word> m_words;
  std::unordered_map<Pair, PairState, PairHash> m_pairs;
  std::priority_queue<Candidate> m_queue;
  std::vector<Pair> m_touched;
};

struct Trained {
  std::vector<std::string> tokens; ///< by id, in the byte-level alphabet
  std::vector<Pair> merges;
};

std::string inQuotes(const std::string& text) {
  return nlohmann::json(text).dump();
}

std::string writeTokenizerJson(const Trained& trained, const std::vector<std::string>& specialTokens) {
  std::string out = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
  for (std::size_t i = 0; i < specialTokens.size(); ++i)
    out += fmt::format("{}\n    {{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": "
                       "false, \"normalized\": false, \"special\": true}}",
                       i > 0 ? "," : "", i, inQuotes(specialTokens[i]));
  const std::string byteLevel =
      "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}";
  out += fmt::format("\n  ],\n  \"normalizer\": null,\n  \"pre_tokenizer\": {0},\n  \"post_processor\": null,\n  "
                     "\"decoder\": {0},\n  \"model\": {{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    "
                     "\"unk_token\": null,\n    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": "
                     "null,\n    \"fuse_unk\": false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n  "
                     "  \"vocab\": {{",
                     byteLevel);
  for (std::size_t id = 0; id < trained.tokens.size(); ++id)
    out += fmt::format("{}\n      {}: {}", id > 0 ? "," : "", inQuotes(trained.tokens[id]), id);
  out += "\n    },\n    \"merges\": [";
  for (std::size_t rank = 0; rank < trained.merges.size(); ++rank)
    out += fmt::format("{}\n      [{}, {}]", rank > 0 ? "," : "",
                       inQuotes(trained.tokens[static_cast<std::size_t>(leftOf(trained.merges[rank]))]),
                       inQuotes(trained.tokens[static_cast<std::size_t>(rightOf(trained.merges[rank]))]));
  out += "\n    ]\n  }\n}\n";
  return out;
}

} // namespace

Result<BpeTrainer> BpeTrainer::create(ThreadPool& pool, BpeTrainerOptions options) {
  const std::int64_t least = bytesInAlphabet + static_cast<std::int64_t>(options.specialTokens.size());
  constexpr std::int64_t most = 4'000'000;
  if (options.vocabularySize < least || options.vocabularySize > most)
    return badInput(
        fmt::format("a vocabulary of {} tokens was asked for; a byte-level tokenizer with {} special tokens "
                    "takes from {} to {}",
                    options.vocabularySize, options.specialTokens.size(), least, most));
  for (const std::string& token : options.specialTokens)
    if (token.empty() || !isValidUtf8(token) ||
        std::count(options.specialTokens.begin(), options.specialTokens.end(), token) > 1)
      return badInput(fmt::format("the special token '{}' is empty, not UTF-8 or given twice", token));
  if (options.byteLimit <= 0) return badInput(fmt::format("a byte limit of {} leaves no text", options.byteLimit));
  return BpeTrainer(pool, std::move(options));
}

void BpeTrainer::add(std::span<const std::string> documents) {
  // As many documents as the limit has room for; the last one is cut.
  std::vector<std::string_view> texts;
  for (const std::string& document : documents) {
    if (full()) break;
    const auto room = static_cast<std::size_t>(std::min<Bytes>(m_options.byteLimit - m_bytes, INT64_MAX));
    std::string_view text = std::string_view(document).substr(0, room);
    if (text.size() < document.size()) text.remove_suffix(incompleteUtf8Tail(text));
    texts.push_back(text);
    m_bytes += text.size() < document.size() ? static_cast<Bytes>(room) : static_cast<Bytes>(text.size());
  }
  const auto shards = std::min<std::size_t>(static_cast<std::size_t>(m_pool->threads()), texts.size());
  std::vector<TextMap<std::int64_t>> counts(shards);
  m_pool->parallelFor(static_cast<std::int64_t>(shards), [&](std::int64_t task) {
    TextMap<std::int64_t>& words = counts[static_cast<std::size_t>(task)];
    std::string repaired;
    for (auto i = static_cast<std::size_t>(task); i < texts.size(); i += shards) {
      std::string_view text = texts[i];
      if (!isValidUtf8(text)) {
        repaired.clear();
        appendRepairedUtf8(text, repaired);
        text = repaired;
      }
      for (SplitScanner scanner(KnownSplit::Gpt2, text); !scanner.atEnd();) {
        const std::string_view word = scanner.next();
        if (const auto entry = words.find(word); entry != words.end())
          ++entry->second;
        else
          words.emplace(word, 1);
      }
    }
  });
  for (TextMap<std::int64_t>& words : counts) {
    if (m_words.empty()) {
      m_words = std::move(words);
      continue;
    }
    for (const auto& [word, count] : words) m_words[word] += count;
  }
}

Result<std::string> BpeTrainer::train(const Progress& progress) const {
  if (m_words.empty()) return badInput("there is no text to train a tokenizer on");
  Trained trained;
  trained.tokens = m_options.specialTokens;
  TextMap<std::int32_t> ids;
  for (std::size_t i = 0; i < trained.tokens.size(); ++i) ids.emplace(trained.tokens[i], static_cast<std::int32_t>(i));
  // Bytes in the order of the characters that stand for them.
  std::vector<std::pair<char32_t, unsigned char>> alphabet;
  for (int byte = 0; byte < bytesInAlphabet; ++byte)
    alphabet.emplace_back(byteLevelCharacter(static_cast<unsigned char>(byte)), static_cast<unsigned char>(byte));
  std::sort(alphabet.begin(), alphabet.end());
  std::array<std::int32_t, 256> byteIds = {};
  for (const auto& [character, byte] : alphabet) {
    std::string token;
    appendUtf8(character, token);
    byteIds[byte] = static_cast<std::int32_t>(trained.tokens.size());
    if (const auto [entry, fresh] = ids.emplace(token, byteIds[byte]); !fresh)
      byteIds[byte] = entry->second; // a special token of one character
    else
      trained.tokens.push_back(std::move(token));
  }

  std::vector<std::pair<std::string_view, std::int64_t>> words(m_words.begin(), m_words.end());
  std::sort(words.begin(), words.end());
  Merger merger(words, byteIds);
  const std::int64_t first = static_cast<std::int64_t>(trained.tokens.size());
  while (static_cast<std::int64_t>(trained.tokens.size()) < m_options.vocabularySize) {
    const auto done = static_cast<std::int64_t>(trained.tokens.size()) - first;
    if (progress && trained.merges.size() % 64 == 0 && !progress(done, m_options.vocabularySize - first))
      return failure(ErrorKind::Interrupted, "the training of the tokenizer was stopped");
    const Candidate best = merger.best();
    if (best.count < std::max<std::int64_t>(1, m_options.minFrequency)) break;
    std::string token = trained.tokens[static_cast<std::size_t>(leftOf(best.pair))] +
                        trained.tokens[static_cast<std::size_t>(rightOf(best.pair))];
    const auto [entry, fresh] = ids.emplace(token, static_cast<std::int32_t>(trained.tokens.size()));
    if (fresh) trained.tokens.push_back(std::move(token));
    trained.merges.push_back(best.pair);
    merger.merge(best.pair, entry->second);
  }
  return writeTokenizerJson(trained, m_options.specialTokens);
}

} // namespace millrace

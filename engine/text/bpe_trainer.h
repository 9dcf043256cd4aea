// Trains a byte-level BPE tokenizer on text, as GPT-2's was: the text is cut into words by GPT-2's pattern, and the
// most frequent neighbouring pair is merged again and again. The result depends on the text and the options alone: ties
// go to the pair with the lower ids. One thread calls it; counting and merging use the pool.
#pragma once

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "text/bpe_model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

struct BpeTrainerOptions {
  std::int64_t vocabularySize = 8192;                         ///< special tokens and the 256 bytes included
  std::vector<std::string> specialTokens = {"<|endoftext|>"}; ///< get the first ids
  Bytes byteLimit = GiB;                                      ///< text beyond this is not looked at
  std::int64_t minFrequency = 2;                              ///< a pair seen less often is not merged
};

class BpeTrainer {
 public:
  /// Merges so far and wanted; false stops the training.
  using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

  /// Refuses vocabularies without room for the special tokens and the bytes.
  static Result<BpeTrainer> create(ThreadPool& pool, BpeTrainerOptions options);

  /// Counts the words of the documents. What is not UTF-8 counts as U+FFFD.
  void add(std::span<const std::string> documents);
  /// Whether the byte limit is reached, and add() does nothing any more.
  bool full() const { return m_bytes >= m_options.byteLimit; }
  Bytes bytes() const { return m_bytes; }

  /// The text of a tokenizer.json that Hugging Face tokenizers loads too. The vocabulary is smaller than asked for when
  /// the text runs out of pairs. Fails when no text was added, and with Interrupted when progress says stop.
  Result<std::string> train(const Progress& progress = {}) const;

 private:
  BpeTrainer(ThreadPool& pool, BpeTrainerOptions options) : m_pool(&pool), m_options(std::move(options)) {}

  ThreadPool* m_pool;
  BpeTrainerOptions m_options;
  TextMap<std::int64_t> m_words;
  Bytes m_bytes = 0;
};

} // namespace millrace

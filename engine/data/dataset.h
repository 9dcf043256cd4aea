// The data of a run: sources read, tokenized once and cached, split into training and validation. What the trainer, the
// evaluator and the tokenizer's training take it from.
#pragma once

#include "base/log.h"
#include "base/thread_pool.h"
#include "data/data_spec.h"
#include "data/packed_source.h"
#include "data/validation_reader.h"
#include "text/bpe_trainer.h"
#include "text/tokenizer.h"

namespace millrace {

struct DatasetSummary {
  std::int64_t documents = 0;
  std::int64_t validationDocuments = 0;
  std::int64_t trainingTokens = 0; ///< end-of-text tokens included
  std::int64_t validationTokens = 0;
  std::int64_t textBytes = 0;
  CachedCounts met;       ///< while the documents were read
  bool fromCache = false; ///< nothing had to be tokenized
  /// 32 hexadecimal digits of everything that decides the batches, apart from context and seed: contents and order of
  /// the sources, how they are read, tokenizer, validation share. A resumed run whose fingerprint differs has other
  /// data.
  std::string fingerprint;
};

/// Immutable; its functions may be called from any thread, each source or reader belongs to one.
class Dataset {
 public:
  const DatasetSummary& summary() const { return m_summary; }
  std::int32_t endOfText() const { return m_endOfText; }

  /// The training documents in rows of `context` tokens.
  Result<std::unique_ptr<BatchSource>> trainingSource(std::int64_t context, std::uint64_t seed) const;
  /// The validation documents; has no rows when no document is held back.
  Result<std::unique_ptr<ValidationReader>> validationReader(std::int64_t context) const;
  /// All documents, held back or not, in the order of the sources; to evaluate on a text as a whole.
  Result<std::unique_ptr<ValidationReader>> wholeReader(std::int64_t context) const;

 private:
  friend Result<Dataset> prepareDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                                        const Tokenizer& tokenizer, const DataProgressCallback& progress);
  Dataset() = default;

  std::shared_ptr<const TokenShard> m_cache;
  std::shared_ptr<const std::vector<std::int32_t>> m_tokenBytes;
  std::vector<std::uint64_t> m_training;
  std::vector<std::uint64_t> m_validation;
  std::int32_t m_endOfText = 0;
  DatasetSummary m_summary;
};

/// Reads the sources, and tokenizes them unless the cache holds them already; a damaged cache is made anew. Blocks.
/// Errors name file, line and reason; no data at all is one.
Result<Dataset> prepareDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                               const Tokenizer& tokenizer, const DataProgressCallback& progress = {});

/// Trains a tokenizer on the sources, up to options.byteLimit of text, and gives the text of its tokenizer.json.
/// `reading` is called while the text is read, `merging` while it is learnt from.
Result<std::string> trainTokenizer(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                                   const BpeTrainerOptions& options, const DataProgressCallback& reading = {},
                                   const BpeTrainer::Progress& merging = {});

/// Whether a document with this hash of its text is held back.
bool isValidationDocument(std::uint64_t hash, double validationFraction);

} // namespace millrace

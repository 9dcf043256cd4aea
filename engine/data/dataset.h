// The data of a run: sources read, tokenized once and cached, split into training and validation. What the trainer, the
// evaluator and the tokenizer's training take it from.
#pragma once

#include "base/log.h"
#include "base/thread_pool.h"
#include "data/data_feed.h"
#include "data/data_spec.h"
#include "data/mixed_source.h"
#include "data/validation_reader.h"
#include "text/bpe_trainer.h"
#include "text/tokenizer.h"

namespace millrace {

struct DatasetSummary {
  std::int64_t documents = 0;
  std::int64_t validationDocuments = 0;
  std::int64_t trainingTokens = 0; ///< end-of-text tokens included
  std::int64_t validationTokens = 0;
  std::int64_t trainingTargets = 0; ///< training tokens that are learnt
  std::int64_t textBytes = 0;
  CachedCounts met; ///< while the documents were read
  /// 32 hexadecimal digits of everything that decides the batches, apart from context and seed: identity and order of
  /// the sources, how they are read, tokenizer, validation share. A resumed run whose fingerprint differs has other
  /// data.
  std::string fingerprint;
};

/// Its functions may be called from any thread, each source or reader belongs to one. Tokenizes on a thread of its own
/// until all is tokenized or it is destroyed.
class Dataset {
 public:
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  /// See DatasetSummary::fingerprint; known from the beginning.
  const std::string& fingerprint() const { return m_fingerprint; }
  std::int32_t endOfText() const { return m_endOfText; }
  /// Where there are conversations: the control token that ends what an assistant says, if one does.
  std::optional<std::int32_t> turnEnd() const { return m_turnEnd; }
  /// Of all that is tokenized so far.
  DatasetSummary summary() const;
  bool complete() const;
  /// Blocks until all is tokenized; BadInput when there is nothing to train on. progress: called now and then; false
  /// gives up with Interrupted.
  Status waitUntilComplete(const DataProgressCallback& progress) const;
  /// Whether tokenizing rests, with what it has begun.
  void setPaused(bool paused);
  /// Why tokenizing ended early, if it did.
  Status failure() const;

  /// The training documents in rows of `context` tokens.
  Result<std::unique_ptr<BatchSource>> trainingSource(std::int64_t context, std::uint64_t seed) const;
  /// The validation documents; has no rows when no document is held back.
  Result<std::unique_ptr<ValidationReader>> validationReader(std::int64_t context) const;
  /// All documents, held back or not, in the order of the sources; to evaluate on a text as a whole.
  Result<std::unique_ptr<ValidationReader>> wholeReader(std::int64_t context) const;

 private:
  friend Result<Dataset> openDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                                     const Tokenizer& tokenizer, const DataProgressCallback& progress);
  Dataset() = default;
  Result<std::unique_ptr<ValidationReader>> reader(std::int64_t context, DocumentChoice choice) const;

  std::vector<std::shared_ptr<ShardSeries>> m_series;
  std::vector<double> m_weights; ///< of the series, where they are drawn from by weight
  std::shared_ptr<const std::vector<std::int32_t>> m_tokenBytes;
  std::int32_t m_endOfText = 0;
  std::optional<std::int32_t> m_turnEnd;
  double m_validationFraction = 0;
  std::string m_fingerprint;
  Log* m_log = nullptr;
  std::unique_ptr<DataFeed> m_feed;
};

/// Looks at the sources and begins to tokenize what the cache does not hold. progress: while sources are looked at.
/// Errors name file, line and reason. All arguments but spec and progress must outlive the dataset.
Result<Dataset> openDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                            const Tokenizer& tokenizer, const DataProgressCallback& progress = {});

/// The same, and waits until all is tokenized. No data at all is an error.
Result<Dataset> prepareDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                               const Tokenizer& tokenizer, const DataProgressCallback& progress = {});

/// Trains a tokenizer on the sources, up to options.byteLimit of text, and gives the text of its tokenizer.json.
/// `reading` is called while the text is read, `merging` while it is learnt from.
Result<std::string> trainTokenizer(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                                   const BpeTrainerOptions& options, const DataProgressCallback& reading = {},
                                   const BpeTrainer::Progress& merging = {});

} // namespace millrace

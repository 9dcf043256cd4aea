// Source files to documents of token ids, over the pool, in an order that does not depend on the threads.
#pragma once

#include "data/document_tokens.h"
#include "data/paced_pool.h"
#include "data/row_judge.h"
#include "data/token_shard.h"

#include <deque>
#include <optional>

namespace millrace {

/// Reads records in batches and decodes them; shared by tokenizing and tokenizer training.
class RecordBatches {
 public:
  /// from: records before it are passed over. before: what was counted in them.
  RecordBatches(FileSystem& files, PacedPool& pool, Log& log, std::vector<SourceFile> sources, RecordLimits limits,
                std::int64_t badRowLimit, const SourcePosition& from = {}, const CachedCounts& before = {});

  /// A usable document or part of one.
  struct Part {
    SourceDocument document;
    SourcePosition next; ///< behind its record
    CachedCounts counts; ///< up to there
  };
  /// The next batch, decoded over the pool; empty at the end. Unusable rows are counted and left out.
  Result<std::vector<Part>> next();
  /// Counts the row of a document that next() gave as unusable after all.
  Status refuse(const SourceDocument& document, const std::string& problem);

  const std::vector<SourceFile>& sources() const { return m_reader.sources(); }
  Bytes bytesRead() const { return m_reader.bytesRead(); }
  /// Of everything so far.
  const CachedCounts& counts() const { return m_counts; }
  /// Names of sets that were met and not asked for, the first of them.
  const std::vector<std::string>& otherSets() const { return m_judge.otherSets(); }
  /// XXH3-128 of the file, if it was read to its end; files before the place that was begun at are not.
  std::optional<std::string> hashOf(std::size_t file) const;

 private:
  struct Place {
    std::size_t file; ///< of the reader's
    std::int64_t line;
    bool first;
    bool last;
    SourcePosition next;
  };
  Result<bool> read(std::vector<RawRecord>& records, std::vector<Place>& places);

  PacedPool& m_pool;
  const std::size_t m_firstFile; ///< the reader does not know those before it
  RecordReader m_reader;
  RowJudge m_judge;
  CachedCounts m_counts;
  SourcePosition m_position;
  std::uint64_t m_skip; ///< records of the first file that are passed over
};

/// A piece of a document.
struct TokenPiece {
  std::vector<std::int32_t> ids; ///< at least one
  bool first = true;             ///< begins a document
  bool last = true;              ///< ends it: `facts` are complete, but for the set's index
  bool beginsRecord = true;      ///< no piece before it is of the same record, so that `next` of that one is true
  DocumentFacts facts;
  std::string set;     ///< the name of its set; empty: none
  SourcePosition next; ///< where the sources stand behind it
  CachedCounts counts; ///< of everything up to there
};

/// The documents of some sources, those of plain text with endOfText behind them; those that no token is left of are
/// counted as empty.
class TokenStream {
 public:
  TokenStream(FileSystem& files, PacedPool& pool, Log& log, std::vector<SourceFile> sources, std::int64_t badRowLimit,
              const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat, std::int32_t endOfText,
              const SourcePosition& from, const CachedCounts& before);

  /// The next piece, which stays until pop(); null at the end.
  Result<const TokenPiece*> peek();
  void pop() { m_pieces.pop_front(); }

  const RecordBatches& records() const { return m_batches; }
  /// Of everything that was read.
  CachedCounts counts() const;

 private:
  Status encode(const std::vector<RecordBatches::Part>& parts);
  void add(const RecordBatches::Part& part, TokenizedRecord record, std::int64_t refused);

  PacedPool& m_pool;
  RecordBatches m_batches;
  const DocumentTokens m_tokens;
  const std::int32_t m_endOfText;
  std::deque<TokenPiece> m_pieces;
  DocumentFacts m_facts;             ///< of the document that is open
  bool m_begun = false;              ///< it has tokens
  std::int64_t m_emptyEncodings = 0; ///< documents that no token was left of
  ConversationCounts m_conversations;
};

} // namespace millrace

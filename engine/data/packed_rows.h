// Documents laid end to end and cut into rows of equal length. A document that goes on in the next row starts there
// anew: attention and positions never reach over a row or a document. The target of a position is the next token of the
// same document, in the next row if need be; the last token of a document has none, nor one whose next is not learnt.
// Immutable, any thread.
#pragma once

#include "data/batch.h"
#include "data/token_shard.h"

#include <memory>
#include <span>
#include <vector>

namespace millrace {

/// An empty batch of this many rows, to be filled.
MicroBatch makeMicroBatch(std::int64_t rows, std::int64_t context);

enum class DocumentChoice { Training, Validation, All };

/// Which documents of the shard these are, in order.
std::vector<std::uint64_t> documentsOf(const TokenShard& shard, double validationFraction, DocumentChoice choice);

class PackedRows {
 public:
  enum class Tail {
    Drop, ///< an incomplete last row is left out, unless it is the only one
    Pad,  ///< an incomplete last row is filled up
  };
  /// documents: which of the shard's, in order. padding: the token that fills rows up, as a document without targets.
  PackedRows(std::shared_ptr<const TokenShard> shard, std::vector<std::uint64_t> documents, std::int64_t context,
             std::int32_t padding, Tail tail);

  /// How many rows so many tokens give.
  static std::int64_t rowsOf(std::int64_t tokens, std::int64_t context, Tail tail);

  std::int64_t rows() const { return m_rows; }
  std::int64_t context() const { return m_context; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(m_packedStart.back()); }
  const std::vector<std::string>& setNames() const { return m_shard->setNames(); }
  std::size_t documents() const { return m_documents.size(); }

  /// Fills row `slot` of the batch with row `row`.
  Status fill(std::int64_t row, MicroBatch& batch, std::int64_t slot) const;
  /// The set of the document at each position of a row; 0 where it is filled up.
  std::vector<std::uint16_t> setsOf(std::int64_t row) const;

 private:
  /// Which of the documents stands there in the row of all.
  std::size_t documentAt(std::uint64_t packed) const;

  std::shared_ptr<const TokenShard> m_shard;
  std::vector<std::uint64_t> m_documents;
  std::vector<std::uint64_t> m_packedStart; ///< where each document begins in the row of all, and the end
  std::int64_t m_context;
  std::int32_t m_padding;
  std::int64_t m_rows = 0;
};

} // namespace millrace

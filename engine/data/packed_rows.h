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

class PackedRows {
 public:
  enum class Tail {
    Drop, ///< an incomplete last row is left out, unless it is the only one
    Pad,  ///< an incomplete last row is filled up
  };
  /// documents: which of the shard's, in order. padding: the token that fills rows up, as a document without targets.
  PackedRows(std::shared_ptr<const TokenShard> shard, std::vector<std::uint64_t> documents, std::int64_t context,
             std::int32_t padding, Tail tail);

  std::int64_t rows() const { return m_rows; }
  std::int64_t context() const { return m_context; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(m_packedStart.back()); }
  std::size_t documents() const { return m_documents.size(); }

  /// An empty batch of this many rows, to be filled.
  MicroBatch makeBatch(std::int64_t rows) const;
  /// Fills row `slot` of the batch with row `row`.
  Status fill(std::int64_t row, MicroBatch& batch, std::int64_t slot) const;

 private:
  std::shared_ptr<const TokenShard> m_shard;
  std::vector<std::uint64_t> m_documents;
  std::vector<std::uint64_t> m_packedStart; ///< where each document begins in the row of all, and the end
  std::int64_t m_context;
  std::int32_t m_padding;
  std::int64_t m_rows = 0;
};

} // namespace millrace

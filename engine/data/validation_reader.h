// The documents that are held back, as rows in fixed order for evaluation. One thread.
#pragma once

#include "data/packed_rows.h"

namespace millrace {

struct ValidationBatch {
  MicroBatch batch;                    ///< rows is 0 at the end
  std::vector<std::int64_t> textBytes; ///< by row: bytes of text that its targets stand for
};

class ValidationReader {
 public:
  /// tokenBytes: by token id, what Tokenizer::tokenBytes gives.
  ValidationReader(PackedRows rows, std::shared_ptr<const std::vector<std::int32_t>> tokenBytes)
      : m_rows(std::move(rows)), m_tokenBytes(std::move(tokenBytes)) {}

  /// Up to this many of the rows that are left.
  Result<ValidationBatch> next(std::int64_t rows);
  void rewind() { m_next = 0; }
  std::int64_t rows() const { return m_rows.rows(); }
  std::int64_t context() const { return m_rows.context(); }

 private:
  PackedRows m_rows;
  std::shared_ptr<const std::vector<std::int32_t>> m_tokenBytes;
  std::int64_t m_next = 0;
};

} // namespace millrace

// A tensor as kernels walk it: numbered rows of contiguous elements, at up to three strides. Plain data.
#pragma once

#include <cstdint>

namespace millrace {
struct TensorView;
class ThreadPool;
} // namespace millrace

namespace millrace::cpu {

struct Rows {
  void* data = nullptr;
  std::int64_t outerStride = 0;              ///< in elements
  std::int64_t middle = 1, middleStride = 0; ///< rows of the middle dimension, and their distance
  std::int64_t inner = 1, innerStride = 0;   ///< the same for the innermost row dimension
};

/// A tensor of rank 1 to 4 as rows of its last dimension. No rows dimensions: one row.
Rows rowsOf(const TensorView& view);
/// The number of those rows.
std::int64_t rowCount(const TensorView& view);

/// A rectangle of rows [row, row + rows) and columns [column, column + columns): one task of an elementwise kernel.
struct Piece {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// How an elementwise kernel over (rows, columns) is cut: into pieces of roughly `elements` elements, from the shape
/// alone.
struct Cut {
  std::int64_t rows = 0, columns = 0, rowsPerPiece = 1, columnsPerPiece = 1, rowPieces = 0, columnPieces = 0;

  Cut(std::int64_t rowTotal, std::int64_t columnTotal, std::int64_t elements = 16384);
  std::int64_t pieces() const { return rowPieces * columnPieces; }
  Piece piece(std::int64_t index) const;
};

} // namespace millrace::cpu

#include "device/cpu/ops/rows.h"

#include "tensor/tensor.h"

#include <algorithm>

namespace millrace::cpu {

Rows rowsOf(const TensorView& view) {
  const int rank = view.shape.rank();
  Rows rows{.data = view.data};
  if (rank >= 2) rows.outerStride = view.strides[0];
  if (rank == 3) {
    rows.inner = view.shape[1];
    rows.innerStride = view.strides[1];
  }
  if (rank == 4) {
    rows.middle = view.shape[1];
    rows.middleStride = view.strides[1];
    rows.inner = view.shape[2];
    rows.innerStride = view.strides[2];
  }
  // Evenly spaced rows need no division to find.
  if (rows.inner > 1 && rank == 4 && rows.middleStride == rows.inner * rows.innerStride) {
    rows.middleStride = rows.innerStride;
    rows.middle *= rows.inner;
    rows.inner = 1;
  }
  if (rows.middle > 1 && rows.inner == 1 && rows.outerStride == rows.middle * rows.middleStride) {
    rows.outerStride = rows.middleStride;
    rows.middle = 1;
  }
  if (rows.inner > 1 && rows.middle == 1 && rows.outerStride == rows.inner * rows.innerStride) {
    rows.outerStride = rows.innerStride;
    rows.inner = 1;
  }
  return rows;
}

std::int64_t rowCount(const TensorView& view) {
  std::int64_t count = 1;
  for (int i = 0; i + 1 < view.shape.rank(); ++i) count *= view.shape[i];
  return count;
}

Cut::Cut(std::int64_t rowTotal, std::int64_t columnTotal, std::int64_t elements)
    : rows(rowTotal), columns(columnTotal) {
  if (rows == 0 || columns == 0) return;
  columnsPerPiece = std::min(columns, elements);
  rowsPerPiece = std::clamp<std::int64_t>(elements / columnsPerPiece, 1, rows);
  rowPieces = (rows + rowsPerPiece - 1) / rowsPerPiece;
  columnPieces = (columns + columnsPerPiece - 1) / columnsPerPiece;
}

Piece Cut::piece(std::int64_t index) const {
  const std::int64_t row = index / columnPieces * rowsPerPiece;
  const std::int64_t column = index % columnPieces * columnsPerPiece;
  return {row, std::min(rowsPerPiece, rows - row), column, std::min(columnsPerPiece, columns - column)};
}

} // namespace millrace::cpu

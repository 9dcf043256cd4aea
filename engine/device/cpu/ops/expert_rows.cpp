#include "device/cpu/ops/expert_rows.h"

#include "device/cpu/ops/expert_rows_kernels.h"

#include <algorithm>

namespace millrace::cpu {

namespace {
/// Whole rows in every piece.
Cut cutRows(std::int64_t rows, std::int64_t columns) {
  return Cut(rows, 1, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, columns)));
}
} // namespace

void combineRows(ThreadPool& pool, const CombineRowsArgs& args, Isa isa) {
  CombinedRows rows;
  rows.bf16 = args.y.dtype == DType::BF16;
  rows.columns = args.y.shape[1];
  rows.choices = args.rows.shape[1];
  rows.x = rowsOf(args.x);
  rows.y = rowsOf(args.y);
  if (args.residual.valid()) rows.residual = rowsOf(args.residual);
  rows.rows = args.rows.as<std::int32_t>();
  if (args.weights.valid()) rows.weights = args.weights.as<float>();
  const Cut cut = cutRows(args.y.shape[0], rows.columns * rows.choices);
  const auto piece = MILLRACE_ISA_FUNCTION(isa, combineTokens);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    piece(rows, p.row, p.row + p.rows);
  });
}

void weighRows(ThreadPool& pool, const WeighRowsArgs& args, Isa isa) {
  WeighedRows rows;
  rows.bf16 = args.x.dtype == DType::BF16;
  rows.columns = args.x.shape[1];
  rows.dY = rowsOf(args.dY);
  rows.x = rowsOf(args.x);
  rows.weights = args.weights.as<float>();
  rows.dWeights = args.dWeights.as<float>();
  const Cut cut = cutRows(args.x.shape[0], rows.columns);
  const auto piece = MILLRACE_ISA_FUNCTION(isa, weighRange);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    piece(rows, p.row, p.row + p.rows);
  });
}

} // namespace millrace::cpu

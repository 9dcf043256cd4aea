#include "device/cpu/ops/rms_norm.h"

#include "device/cpu/ops/column_sums.h"
#include "device/cpu/ops/norm_kernels.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

void rmsNorm(ThreadPool& pool, const RmsNormArgs& args, Isa isa) {
  NormRows rows;
  rows.bf16 = args.x.dtype == DType::BF16;
  rows.width = args.x.shape[-1];
  rows.epsilon = args.epsilon;
  rows.x = rowsOf(args.x);
  rows.y = rowsOf(args.y);
  rows.weightOffset = args.weightOffset;
  if (args.residual.valid()) rows.residual = rowsOf(args.residual);
  rows.weight = args.weight.data;
  rows.rstd = args.rstd.as<float>();
  // Whole rows in every piece.
  const Cut cut(rowCount(args.x), 1, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, rows.width)));
  const auto piece = MILLRACE_ISA_FUNCTION(isa, rmsNormRows);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    piece(rows, p.row, p.row + p.rows);
  });
}

void rmsNormBackward(ThreadPool& pool, const RmsNormBackwardArgs& args, Isa isa) {
  NormBackwardRows rows;
  rows.bf16 = args.x.dtype == DType::BF16;
  rows.width = args.x.shape[-1];
  rows.dY = rowsOf(args.dY);
  rows.x = rowsOf(args.x);
  rows.dX = rowsOf(args.dX);
  if (args.dResidual.valid()) rows.dResidual = rowsOf(args.dResidual);
  rows.weight = args.weight.data;
  rows.rstd = args.rstd.as<float>();
  rows.weightOffset = args.weightOffset;
  const auto piece = MILLRACE_ISA_FUNCTION(isa, rmsNormBackwardRows);
  columnSums<1>(pool, rowCount(args.x), rows.width, {args.dWeight.as<float>()}, isa,
                [&](std::int64_t begin, std::int64_t end, float* part) { piece(rows, begin, end, part); });
}

} // namespace millrace::cpu

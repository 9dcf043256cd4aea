#include "device/cpu/ops/rope.h"

#include "device/cpu/ops/rope_kernels.h"
#include "device/cpu/ops/rows.h"

#include <algorithm>

namespace millrace::cpu {

void rope(ThreadPool& pool, const RopeArgs& args, Isa isa) {
  RopeRows rows;
  rows.bf16 = args.x.dtype == DType::BF16;
  rows.x = args.x.data;
  rows.tokenStride = args.x.strides[0];
  rows.heads = args.x.shape[1];
  rows.headStride = args.x.strides[1];
  rows.cosSin = args.cosSin.as<float>();
  rows.cosSinStride = args.cosSin.strides[0];
  rows.half = args.cosSin.shape[1] / 2;
  rows.positions = args.positions.as<std::int32_t>();
  rows.inverse = args.inverse;
  const std::int64_t perToken = std::max<std::int64_t>(1, rows.heads * rows.half * 2);
  const Cut cut(args.x.shape[0], 1, std::max<std::int64_t>(1, 16384 / perToken));
  const auto piece = MILLRACE_ISA_FUNCTION(isa, ropeTokens);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    piece(rows, p.row, p.row + p.rows);
  });
}

} // namespace millrace::cpu

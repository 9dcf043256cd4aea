#include "device/cpu/ops/convert.h"

#include "device/cpu/ops/convert_kernels.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

void convert(ThreadPool& pool, const ConvertArgs& args, Isa isa) {
  TensorView from = args.x, to = args.y;
  if (from.contiguous() && to.contiguous()) {
    from = from.reshaped({from.shape.elements()});
    to = to.reshaped({to.shape.elements()});
  }
  const Cut cut(rowCount(from), from.shape[-1], 32768);
  const Rows x = rowsOf(from), y = rowsOf(to);
  const bool xBf16 = from.dtype == DType::BF16, yBf16 = to.dtype == DType::BF16;
  const auto piece = MILLRACE_ISA_FUNCTION(isa, convertPiece);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) { piece(x, xBf16, y, yBf16, cut.piece(i)); });
}

} // namespace millrace::cpu

#include "device/cpu/ops/add.h"

#include "device/cpu/ops/rows.h"
#include "device/cpu/ops/sum_kernels.h"

namespace millrace::cpu {

void add(ThreadPool& pool, const AddArgs& args, Isa isa) {
  const float* x = args.x.as<float>();
  float* y = args.y.as<float>();
  const Cut cut(1, args.x.shape.elements(), 32768);
  const auto range = MILLRACE_ISA_FUNCTION(isa, addRange);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    range(x + p.column, y + p.column, p.columns);
  });
}

} // namespace millrace::cpu

#include "device/cpu/ops/softcap.h"

#include "device/cpu/ops/softcap_kernels.h"

namespace millrace::cpu {

void softcap(ThreadPool& pool, const SoftcapArgs& args, Isa isa) {
  const Cut cut(args.x.shape[0], args.x.shape[1]);
  const auto cap = MILLRACE_ISA_FUNCTION(isa, softcapRows);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    cap(args.x.as<float>() + p.row * args.x.strides[0] + p.column, args.x.strides[0], p.rows, p.columns, args.softcap);
  });
}

} // namespace millrace::cpu

#include "device/cpu/ops/gated_activation.h"

#include "device/cpu/ops/activation_kernels.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

void gatedActivation(ThreadPool& pool, const GatedActivationArgs& args, Isa isa) {
  const std::int64_t width = args.y.shape[-1];
  const Cut cut(args.y.shape[0], width);
  const Rows gateUp = rowsOf(args.gateUp), y = rowsOf(args.y);
  const bool bf16 = args.y.dtype == DType::BF16;
  const auto piece = MILLRACE_ISA_FUNCTION(isa, gatedActivationPiece);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) { piece(gateUp, width, y, bf16, args.activation, cut.piece(i)); });
}

void gatedActivationBackward(ThreadPool& pool, const GatedActivationBackwardArgs& args, Isa isa) {
  const std::int64_t width = args.dY.shape[-1];
  const Cut cut(args.dY.shape[0], width);
  const Rows dY = rowsOf(args.dY), gateUp = rowsOf(args.gateUp), dGateUp = rowsOf(args.dGateUp);
  const bool bf16 = args.dY.dtype == DType::BF16;
  const auto piece = MILLRACE_ISA_FUNCTION(isa, gatedActivationBackwardPiece);
  pool.parallelFor(cut.pieces(),
                   [&](std::int64_t i) { piece(dY, gateUp, width, dGateUp, bf16, args.activation, cut.piece(i)); });
}

} // namespace millrace::cpu

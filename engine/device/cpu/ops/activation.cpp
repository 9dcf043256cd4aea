#include "device/cpu/ops/activation.h"

#include "device/cpu/ops/activation_kernels.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

namespace {
TensorView flat(const TensorView& view) {
  return view.reshaped({view.shape.elements()});
}
} // namespace

void activation(ThreadPool& pool, const ActivationArgs& args, Isa isa) {
  ActivationArgs a = args;
  if (a.x.contiguous() && a.y.contiguous()) {
    a.x = flat(a.x);
    a.y = flat(a.y);
  }
  const Cut cut(rowCount(a.x), a.x.shape[-1]);
  const Rows x = rowsOf(a.x), y = rowsOf(a.y);
  const bool bf16 = a.x.dtype == DType::BF16;
  const auto piece = MILLRACE_ISA_FUNCTION(isa, activationPiece);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) { piece(x, y, bf16, a.activation, cut.piece(i)); });
}

void activationBackward(ThreadPool& pool, const ActivationBackwardArgs& args, Isa isa) {
  ActivationBackwardArgs a = args;
  if (a.dY.contiguous() && a.x.contiguous() && a.dX.contiguous()) {
    a.dY = flat(a.dY);
    a.x = flat(a.x);
    a.dX = flat(a.dX);
  }
  const Cut cut(rowCount(a.x), a.x.shape[-1]);
  const Rows dY = rowsOf(a.dY), x = rowsOf(a.x), dX = rowsOf(a.dX);
  const bool bf16 = a.x.dtype == DType::BF16;
  const auto piece = MILLRACE_ISA_FUNCTION(isa, activationBackwardPiece);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) { piece(dY, x, dX, bf16, a.activation, cut.piece(i)); });
}

} // namespace millrace::cpu

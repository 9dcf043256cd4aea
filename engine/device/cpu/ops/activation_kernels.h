// The inner loops of activation.h and gated_activation.h; rows hold fp32, or bf16 where the flag says so.
#pragma once

#include "device/cpu/ops/isa.h"
#include "device/cpu/ops/rows.h"
#include "tensor/activation.h"

namespace millrace::cpu {

MILLRACE_EACH_ISA(void activationPiece(const Rows& x, const Rows& y, bool bf16, Activation kind, const Piece& piece);
                  void activationBackwardPiece(const Rows& dY, const Rows& x, const Rows& dX, bool bf16,
                                               Activation kind, const Piece& piece);
                  // up: how many elements behind gate it begins in its row.
                  void gatedActivationPiece(const Rows& gateUp, std::int64_t up, const Rows& y, bool bf16,
                                            Activation kind, const Piece& piece);
                  void gatedActivationBackwardPiece(const Rows& dY, const Rows& gateUp, std::int64_t up,
                                                    const Rows& dGateUp, bool bf16, Activation kind,
                                                    const Piece& piece);)

} // namespace millrace::cpu

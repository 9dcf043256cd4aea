#include "device/cpu/ops/cross_entropy.h"

#include "device/cpu/ops/cross_entropy_kernels.h"
#include "device/cpu/ops/rows.h"

#include <algorithm>
#include <cassert>

namespace millrace::cpu {

void crossEntropy(ThreadPool& pool, const CrossEntropyArgs& args, Isa isa) {
  CrossEntropyRows rows;
  rows.logits = args.logits.as<float>();
  rows.stride = args.logits.strides[0];
  rows.vocabulary = args.logits.shape[1];
  rows.targets = args.targets.as<std::int32_t>();
  rows.loss = args.loss.as<float>();
  rows.scale = args.scale;
  rows.softcap = args.softcap;
  if (args.dLogits.valid()) {
    assert(args.dLogits.data == args.logits.data);
    rows.gradient = args.dLogits.dtype == DType::BF16 ? LogitsGradient::BF16 : LogitsGradient::F32;
  }
  const Cut cut(args.logits.shape[0], 1, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, rows.vocabulary)));
  const auto piece = MILLRACE_ISA_FUNCTION(isa, crossEntropyRows);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    piece(rows, p.row, p.row + p.rows);
  });
}

} // namespace millrace::cpu

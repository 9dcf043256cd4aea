#include "device/cuda/ops/attention.h"

#include "device/cuda/ops/attention_kernels.h"
#include "device/cuda/ops/attention_tiles.h"

#include <cstdint>
#include <initializer_list>

namespace millrace::cuda {

namespace {

/// Whether every row of every head begins at a multiple of 16 bytes, as copies of 16 bytes want it.
bool aligned(const TensorView& view) {
  constexpr std::int64_t elements = 8; // of 16 bytes
  if (reinterpret_cast<std::uintptr_t>(view.data) % 16 != 0) return false;
  for (int i = 0; i < 3; ++i) {
    if (view.shape[i] > 1 && view.strides[static_cast<std::size_t>(i)] % elements != 0) return false;
  }
  return true;
}

bool matrixUnitsCan(std::initializer_list<TensorView> views, float scale) {
  for (const TensorView& view : views) {
    if (view.dtype != DType::BF16 || view.shape[3] % 8 != 0 || view.shape[3] > matrixHeadSizes.back()) return false;
    if (!aligned(view)) return false;
  }
  return scale > 0; // the largest score is looked for before the scale is applied
}

} // namespace

void attention(cudaStream_t stream, const AttentionArgs& args) {
  if (args.q.shape.elements() == 0) return;
  if (matrixUnitsCan({args.q, args.k, args.v, args.out}, args.scale))
    attentionForwardBf16(stream, args);
  else
    attentionForwardGeneral(stream, args);
}

void attentionBackward(cudaStream_t stream, const AttentionBackwardArgs& args) {
  if (args.q.shape.elements() == 0) return;
  attentionRowSums(stream, args);
  if (matrixUnitsCan({args.q, args.k, args.v, args.dOut, args.dQ, args.dK, args.dV}, args.scale)) {
    attentionKeyGradientsBf16(stream, args);
    attentionQueryGradientsBf16(stream, args);
  } else {
    attentionGradientsGeneral(stream, args);
  }
}

} // namespace millrace::cuda

#include "device/cpu/ops/attention_shape.h"

#include "device/cpu/ops/simd_scratch.h"

#include <algorithm>

namespace millrace::cpu {

AttentionShape::AttentionShape(const TensorView& q, const TensorView& k)
    : batch(q.shape[0]),
      queries(q.shape[1]),
      keys(k.shape[1]),
      heads(q.shape[2]),
      kvHeads(k.shape[2]),
      group(heads / kvHeads),
      headSize(q.shape[3]) {}

VisibleKeys visibleKeys(const TensorView& documentStart, std::int64_t window, std::int64_t row, std::int64_t position) {
  std::int64_t first = window > 0 ? position - window + 1 : 0;
  if (documentStart.valid()) {
    const std::int64_t start = documentStart.as<std::int32_t>()[row * documentStart.strides[0] + position];
    first = std::max(first, start);
  }
  first = std::clamp<std::int64_t>(first, 0, position);
  return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(position + 1)};
}

std::int64_t attentionForwardScratchFloats(std::int64_t headSize) {
  using Blocks = AttentionBlocks;
  return 2 * ScratchPieces::rounded(Blocks::forwardRows * headSize) +
         2 * ScratchPieces::rounded(Blocks::forwardKeys * headSize) +
         ScratchPieces::rounded(Blocks::forwardRows * (Blocks::forwardKeys + attentionPadding));
}

std::int64_t attentionBackwardScratchFloats(std::int64_t headSize) {
  using Blocks = AttentionBlocks;
  return 4 * ScratchPieces::rounded(Blocks::backwardKeys * headSize) +
         3 * ScratchPieces::rounded(Blocks::backwardQueries * headSize) +
         2 * ScratchPieces::rounded(Blocks::backwardKeys * (Blocks::backwardQueries + attentionPadding));
}

std::int64_t attentionScratchBytesPerThread(std::int64_t headSize) {
  return std::max(attentionForwardScratchFloats(headSize), attentionBackwardScratchFloats(headSize)) *
         static_cast<std::int64_t>(sizeof(float));
}

namespace {
std::int64_t offsetOf(const TensorView& view, std::int64_t row, std::int64_t position, std::int64_t head) {
  return row * view.strides[0] + position * view.strides[1] + head * view.strides[2];
}
} // namespace

void packHeads(const AttentionSimd& simd, const TensorView& view, std::int64_t row, std::int64_t begin,
               std::int64_t count, std::int64_t head, std::int64_t heads, float* to, float factor) {
  const std::int64_t size = view.shape[3];
  const auto pack = [&](std::int64_t position, std::int64_t rows, std::int64_t stride, float* target) {
    const std::int64_t offset = offsetOf(view, row, position, head);
    if (view.dtype == DType::BF16) {
      const auto* from = reinterpret_cast<const std::uint16_t*>(view.as<BFloat16>()) + offset;
      simd.packWiden(from, stride, target, size, rows, size, factor);
    } else {
      simd.pack(view.as<float>() + offset, stride, target, size, rows, size, factor);
    }
  };
  if (heads == 1) {
    pack(begin, count, view.strides[1], to);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) pack(begin + i, heads, view.strides[2], to + i * heads * size);
}

void unpackHead(const AttentionSimd& simd, const float* from, const TensorView& view, std::int64_t row,
                std::int64_t begin, std::int64_t count, std::int64_t head, float factor) {
  const std::int64_t size = view.shape[3], offset = offsetOf(view, row, begin, head);
  if (view.dtype == DType::BF16) {
    auto* to = reinterpret_cast<std::uint16_t*>(view.as<BFloat16>()) + offset;
    simd.unpackNarrow(from, size, to, view.strides[1], count, size, factor);
  } else {
    simd.unpack(from, size, view.as<float>() + offset, view.strides[1], count, size, factor);
  }
}

} // namespace millrace::cpu

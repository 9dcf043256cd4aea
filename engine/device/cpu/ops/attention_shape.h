// What forward and backward attention share: sizes, who sees whom, and blocks of heads as fp32 rows.
#pragma once

#include "device/cpu/ops/attention_simd.h"
#include "device/kernels.h"

#include <cstdint>

namespace millrace::cpu {

struct AttentionShape {
  std::int64_t batch = 0, queries = 0, keys = 0;  // rows of sequences; positions of a row
  std::int64_t heads = 0, kvHeads = 0, group = 0; // group = heads / kvHeads
  std::int64_t headSize = 0;

  /// q (B, Tq, heads, D), k (B, Tk, kvHeads, D).
  AttentionShape(const TensorView& q, const TensorView& k);
};

/// Keys [first, end) of a query. The query itself is always among them.
struct VisibleKeys {
  std::int32_t first = 0, end = 0;
};

/// position: of the query in its row of keys. documentStart (B, Tk) int32, optional.
VisibleKeys visibleKeys(const TensorView& documentStart, std::int64_t window, std::int64_t row, std::int64_t position);

constexpr float log2OfE = 1.44269504088896341f;
constexpr float logOf2 = 0.693147180559945309f;

/// Positions [begin, begin + count) of heads [head, head + heads) of view (B, T, heads, D) as rows of fp32, times
/// factor: the heads of a position one after the other. to has D elements a row.
void packHeads(const AttentionSimd& simd, const TensorView& view, std::int64_t row, std::int64_t begin,
               std::int64_t count, std::int64_t head, std::int64_t heads, float* to, float factor);

/// One head's positions [begin, begin + count) from rows of fp32 (stride D), times factor.
void unpackHead(const AttentionSimd& simd, const float* from, const TensorView& view, std::int64_t row,
                std::int64_t begin, std::int64_t count, std::int64_t head, float factor);

/// Sizes of the tiles; part of what fixes the bits.
struct AttentionBlocks {
  static constexpr std::int64_t forwardRows = 128; // queries times heads
  static constexpr std::int64_t forwardKeys = 128;
  static constexpr std::int64_t forwardHeads = 8; // at most, of those that share keys
  static constexpr std::int64_t backwardQueries = 64;
  static constexpr std::int64_t backwardKeys = 128;
};

std::int64_t attentionForwardScratchFloats(std::int64_t headSize);
std::int64_t attentionBackwardScratchFloats(std::int64_t headSize);
/// Heap that forward and backward keep for each compute thread, in bytes, for heads of that size: 320 KiB for 64.
std::int64_t attentionScratchBytesPerThread(std::int64_t headSize);

} // namespace millrace::cpu

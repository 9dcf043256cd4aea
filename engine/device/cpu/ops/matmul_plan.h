// How a matrix product is cut into tasks: a pure function of its shape and dtypes, never of the number of threads.
#pragma once

#include <cstdint>

namespace millrace::cpu {

struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  bool bf16 = false;       ///< operands
  bool nativeBf16 = false; ///< oneDNN multiplies bf16 itself here
};

/// tasks = rowTiles * columnTiles * depthTiles; the last of each may be smaller. With more than one depth tile, every
/// task writes a partial sum, and a second pass adds them in ascending order.
struct MatmulPlan {
  std::int64_t tileRows = 0, tileColumns = 0, tileDepth = 0;
  std::int64_t rowTiles = 0, columnTiles = 0, depthTiles = 0;
  std::int64_t blockDepth = 0; ///< how much of the depth is packed and multiplied at once
  bool packA = false;          ///< into rows of op(a), fp32
  bool packB = false;          ///< into panels of panelColumns columns, fp32
  bool fewRows = false;        ///< dot products against rows of b instead of tiles

  std::int64_t tasks() const { return rowTiles * columnTiles * depthTiles; }
};

/// Columns of b that are packed and multiplied at once: narrow enough for oneDNN's fast path whatever b's stride is.
constexpr std::int64_t panelColumns = 128;

/// Stride of packed rows of that many elements: never a large power of two, whose rows would share few cache sets.
constexpr std::int64_t packedStride(std::int64_t depth) {
  return (depth + 15) / 16 * 16 + 16;
}

MatmulPlan planMatmul(const MatmulShape& shape);

/// Bytes of heap that planMatmul's largest tile makes each compute thread keep.
std::int64_t matmulScratchBytesPerThread();
/// Bytes that the thread that calls matmul() keeps on top, at most (partial sums of products split over the depth).
std::int64_t matmulPartialBytesLimit();

} // namespace millrace::cpu

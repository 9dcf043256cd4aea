// The tiles of the attention kernels, by head size, and the shared memory that follows from them. Plain constants, so
// that tests can look at them without CUDA. A warp works on rowTiles * 16 rows; its accumulators are what fills the
// registers, and what bounds the tiles: 255 registers a thread, and two blocks on a multiprocessor.
#pragma once

#include <array>
#include <cstdint>

namespace millrace::cuda {

/// A block of consumer cards (compute capability 8.6, 8.9, 12.0) has at most 99 KiB.
constexpr int mostSharedBytes = 99 * 1024;

/// Head sizes with matrix unit kernels; a size between two is padded with zeros to the larger.
constexpr std::array<int, 5> matrixHeadSizes{64, 80, 96, 128, 256};

struct ForwardTiles {
  int headSize;
  int rowTiles;           // of 16 queries, a warp
  int warps;              // of a block
  int keys;               // of a tile
  int blocksPerProcessor; // that registers and shared memory are meant to allow

  constexpr int queries() const { return rowTiles * 16 * warps; }
  constexpr int threads() const { return warps * 32; }
  /// Queries, one tile of keys, one of values, and where the visible keys of each query begin.
  constexpr int sharedBytes() const { return (queries() + 2 * keys) * headSize * 2 + queries() * 4; }
};

/// More than one row tile halves what a warp reads of the keys for each product, where the registers allow it.
constexpr ForwardTiles forwardTiles(int headSize) {
  switch (headSize) {
  case 64:
    return {64, 2, 4, 64, 2};
  case 128:
    return {128, 2, 4, 32, 2}; // with 64 keys, only one block would fit a multiprocessor of a consumer card
  case 256:
    return {256, 1, 4, 64, 1};
  default:
    return {headSize, 2, 4, 64, 2};
  }
}

/// Of the two kernels of the backward pass: a block keeps its own rows (keys and values, or queries and dOut) and
/// streams the others past them in tiles, two in flight.
struct BackwardTiles {
  int headSize;
  int rowTiles;           // of 16 own rows, a warp
  int warps;              // of a block
  int streamed;           // rows of a tile
  bool inShared;          // own rows are kept in shared memory, not in registers
  int columnSplits;       // blocks that share the columns of dK and dV of one tile
  int blocksPerProcessor; // that registers and shared memory are meant to allow

  constexpr int rows() const { return rowTiles * 16 * warps; }
  constexpr int threads() const { return warps * 32; }
  constexpr int ownBytes() const { return inShared ? 2 * rows() * headSize * 2 : 0; }
  /// One of the two operands of a tile.
  constexpr int operandBytes() const { return streamed * headSize * 2; }
  /// A tile: both operands, and three numbers for each row. Tiles begin at multiples of 128 bytes.
  constexpr int stageBytes() const { return (2 * operandBytes() + 3 * streamed * 4 + 127) / 128 * 128; }
  constexpr int sharedBytes() const { return ownBytes() + 2 * stageBytes(); }
};

constexpr BackwardTiles keyGradientTiles(int headSize) {
  switch (headSize) {
  case 64:
    return {64, 2, 4, 64, false, 1, 2};
  case 256:
    return {256, 1, 4, 16, true, 2, 1};
  default:
    return {headSize, 1, 4, 32, false, 1, 2};
  }
}

constexpr BackwardTiles queryGradientTiles(int headSize) {
  switch (headSize) {
  case 64:
    return {64, 2, 4, 64, false, 1, 2};
  case 256:
    return {256, 1, 4, 16, true, 1, 1};
  default:
    return {headSize, 1, 4, 32, false, 1, 2};
  }
}

/// The kernels in plain arithmetic, for any head size: 16 x 16 threads, 4 x 4 scores each. A block makes some columns
/// of the results, 64 or 128; where heads are larger, others make the rest and compute the scores again.
struct GeneralTiles {
  static constexpr int rows = 64; // own rows of a block, and streamed rows of a tile
  static constexpr int threads = 256;
  static constexpr int slice = 32;  // elements of heads, or streamed rows, that lie in shared memory at a time
  static constexpr int stride = 68; // floats from row to row: whole vectors of 16 bytes, spread over the banks

  static constexpr int columns(std::int64_t headSize) { return headSize <= 64 ? 64 : 128; }
  /// Slices of two operands of a product of heads, or of one operand of a product with weights.
  static constexpr int sliceFloats(int columns) {
    return 2 * slice * stride > slice * columns ? 2 * slice * stride : slice * columns;
  }
  /// With them, the weights (probabilities, or gradients of scores) and three numbers for each streamed row.
  static constexpr int sharedBytes(int columns) { return (sliceFloats(columns) + rows * stride + 3 * rows) * 4; }
};

constexpr int mostAttentionSharedBytes() {
  int most = GeneralTiles::sharedBytes(128);
  for (const int size : matrixHeadSizes) {
    for (const int bytes : {forwardTiles(size).sharedBytes(), keyGradientTiles(size).sharedBytes(),
                            queryGradientTiles(size).sharedBytes()}) {
      if (bytes > most) most = bytes;
    }
  }
  return most;
}
static_assert(mostAttentionSharedBytes() <= mostSharedBytes);

} // namespace millrace::cuda

#include "device/cpu/ops/matmul_plan.h"

#include "device/cpu/ops/simd_scratch.h"

#include <algorithm>

namespace millrace::cpu {

namespace {

constexpr std::int64_t mostWanted = 16;
constexpr std::int64_t largestTile = 256;
constexpr std::int64_t usualTile = 128; // smaller ones only when a cut along the depth does not give enough tasks
constexpr std::int64_t smallestTile = 64;
constexpr std::int64_t packedDepth = 256;
constexpr std::int64_t directDepth = 1024;
constexpr std::int64_t smallestDepthTile = 512;
constexpr std::int64_t fewRowsLimit = 4;

/// How many tasks a product of that many multiplications is worth: all from 0.4 ms of one core on.
std::int64_t wantedTasks(std::int64_t work) {
  return std::clamp<std::int64_t>(work >> 20, 1, mostWanted);
}

std::int64_t pieces(std::int64_t size, std::int64_t tile) {
  return (size + tile - 1) / tile;
}

/// Tiles of nearly equal size, at most tile each.
std::int64_t evened(std::int64_t size, std::int64_t tile, std::int64_t multiple) {
  const std::int64_t even = pieces(size, pieces(size, tile));
  return std::min(tile, pieces(even, multiple) * multiple);
}

} // namespace

MatmulPlan planMatmul(const MatmulShape& shape) {
  MatmulPlan plan;
  const std::int64_t wanted = wantedTasks(shape.m * shape.n * shape.k);

  if (shape.m <= fewRowsLimit && shape.transposeB && !shape.transposeA) {
    // Bound by reading b: about 128 Ki elements a task, whole rows of b each.
    plan.fewRows = true;
    plan.tileRows = shape.m;
    plan.tileDepth = plan.blockDepth = shape.k;
    const std::int64_t rows = pieces(std::int64_t{1} << 17, std::max<std::int64_t>(shape.k, 1));
    plan.tileColumns = std::clamp<std::int64_t>(rows, 1, std::max<std::int64_t>(shape.n, 1));
    plan.rowTiles = plan.depthTiles = 1;
    plan.columnTiles = pieces(shape.n, plan.tileColumns);
    return plan;
  }

  std::int64_t rows = std::min(largestTile, shape.m), columns = std::min(largestTile, shape.n);
  const auto tiles = [&] { return pieces(shape.m, rows) * pieces(shape.n, columns); };
  const auto halve = [&](std::int64_t least) {
    std::int64_t& larger = rows >= columns ? rows : columns;
    if (larger <= least) return false;
    larger = std::max(least, larger / 2);
    return true;
  };
  const std::int64_t mostDepthTiles = std::max<std::int64_t>(1, shape.k / smallestDepthTile);
  const auto depthTiles = [&] { return std::min(pieces(wanted, tiles()), mostDepthTiles); };
  // Packing both operands costs least with the largest tiles, so there the depth is cut first; else it is cut when
  // tiles of the usual size are too few.
  if (!(shape.transposeA && !shape.transposeB)) {
    while (tiles() < wanted && halve(usualTile)) {
    }
  }
  while (tiles() * depthTiles() < wanted && halve(smallestTile)) {
  }
  plan.depthTiles = depthTiles();

  plan.tileRows = evened(shape.m, rows, 8);
  plan.tileColumns = evened(shape.n, columns, 8);
  plan.rowTiles = pieces(shape.m, plan.tileRows);
  plan.columnTiles = pieces(shape.n, plan.tileColumns);
  plan.tileDepth = std::max<std::int64_t>(1, pieces(shape.k, plan.depthTiles));
  if (plan.depthTiles > 1) plan.tileDepth = pieces(plan.tileDepth, 32) * 32;
  plan.depthTiles = std::max<std::int64_t>(1, pieces(shape.k, plan.tileDepth));

  const bool widen = shape.bf16 && !shape.nativeBf16;
  plan.packA = !shape.nativeBf16 && (widen || shape.transposeA);
  plan.packB = !shape.nativeBf16 && (widen || !shape.transposeB);
  plan.blockDepth = shape.nativeBf16 ? plan.tileDepth
                                     : std::min(plan.tileDepth, plan.packA || plan.packB ? packedDepth : directDepth);
  return plan;
}

std::int64_t matmulScratchBytesPerThread() {
  const std::int64_t floats = ScratchPieces::rounded(largestTile * packedStride(packedDepth)) +
                              ScratchPieces::rounded(panelColumns * packedStride(packedDepth)) +
                              ScratchPieces::rounded(largestTile * largestTile);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t matmulPartialBytesLimit() {
  return 2 * mostWanted * largestTile * largestTile * static_cast<std::int64_t>(sizeof(float));
}

} // namespace millrace::cpu

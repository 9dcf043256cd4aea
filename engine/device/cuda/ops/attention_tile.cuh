// Tiles of heads in shared memory, and how warps read them as operands of the matrix units. A row is a head of one
// position: D bf16 numbers, in pieces of 16 bytes whose places are exchanged from row to row (XOR), so that the eight
// rows of a matrix that is read at once lie in different banks.
#pragma once

#include "device/cuda/ops/matrix_units.cuh"

#include <cstddef>
#include <cstdint>

namespace millrace::cuda {

template <int D>
struct SharedTile {
  static_assert(D % 16 == 0);
  static constexpr int rowBytes = D * 2;
  static constexpr int pieces = D / 8;
  // Rows that are a multiple of 128 bytes apart all begin in the same bank: eight places to exchange. Otherwise two or
  // four neighbours begin in different banks already, and exchanges must stay within what divides the row.
  static constexpr int places = pieces % 8 == 0 ? 8 : pieces % 4 == 0 ? 4 : 2;
  static constexpr int rowsPerPlace = 8 / places;

  __device__ static std::uint32_t exchange(int row) { return static_cast<std::uint32_t>(row / rowsPerPlace % places); }
  /// Byte offset of a piece.
  __device__ static std::uint32_t offset(int row, int piece) {
    return static_cast<std::uint32_t>(row * rowBytes) + ((static_cast<std::uint32_t>(piece) ^ exchange(row)) * 16);
  }
};

/// What a lane adds to a tile's address to read its row of a set of four matrices, worked out once.
template <int D>
class LaneOffset {
 public:
  /// row, piece: of this lane, when the set begins at the tile's first row and piece; piece is 0 or 1.
  __device__ LaneOffset(int row, int piece)
      : m_row(static_cast<std::uint32_t>(row * SharedTile<D>::rowBytes)),
        m_flip((static_cast<std::uint32_t>(piece) ^ SharedTile<D>::exchange(row)) * 16) {}

  /// For the set that begins at a row (a multiple of 8) and a piece (even).
  __device__ std::uint32_t at(int row, int piece) const {
    return m_row + static_cast<std::uint32_t>(row * SharedTile<D>::rowBytes) +
           ((static_cast<std::uint32_t>(piece) * 16) ^ m_flip);
  }
  __device__ void forget() { hide(m_flip); }

 private:
  std::uint32_t m_row, m_flip;
};

/// The four ways in which a warp reads a tile. Rows are positions, columns elements of the head, 16 of each at a time;
/// column numbers are in pieces of 8.
template <int D>
class TileReader {
 public:
  __device__ explicit TileReader(int lane)
      : m_downThenAcross(lane % 16, lane / 16), m_acrossThenDown(lane % 8 + lane / 16 * 8, lane / 8 % 2) {}

  /// a of multiply(): its rows are the tile's.
  __device__ void left(std::uint32_t (&a)[4], std::uint32_t tile, int row, int piece) const {
    loadMatrices(a, tile + m_downThenAcross.at(row, piece));
  }
  /// a of multiply(): its rows are the tile's columns (a product of the transposed tile).
  __device__ void leftTransposed(std::uint32_t (&a)[4], std::uint32_t tile, int row, int piece) const {
    loadTransposed(a, tile + m_acrossThenDown.at(row, piece));
  }
  /// Two b of multiply(), b[0..1] and b[2..3]: their columns are the tile's rows (a product with the transposed tile).
  __device__ void rightTransposed(std::uint32_t (&b)[4], std::uint32_t tile, int row, int piece) const {
    loadMatrices(b, tile + m_acrossThenDown.at(row, piece));
  }
  /// Two b of multiply(): their rows are the tile's.
  __device__ void right(std::uint32_t (&b)[4], std::uint32_t tile, int row, int piece) const {
    loadTransposed(b, tile + m_downThenAcross.at(row, piece));
  }
  /// At the start of each round of a loop: addresses worked out in earlier rounds are not kept in registers.
  __device__ void forget() {
    m_downThenAcross.forget();
    m_acrossThenDown.forget();
  }

 private:
  LaneOffset<D> m_downThenAcross, m_acrossThenDown;
};

/// Copies `rows` rows of a head at a time into tiles. A thread keeps to one piece and steps down the rows, so that a
/// copy costs it an addition and a comparison, and a stream of tiles one pointer.
template <int D, int rows, int threads>
class TileCopier {
  static constexpr int pieces = SharedTile<D>::pieces;
  static constexpr int across = pieces <= 8 ? 8 : pieces <= 16 ? 16 : 32; // threads a row; some have no piece
  static constexpr int step = threads / across;
  static_assert(pieces <= across && threads % across == 0 && rows % step == 0);

 public:
  __device__ explicit TileCopier(int headSize) : m_to(idle), m_row(static_cast<int>(threadIdx.x) / across) {
    if (piece() < pieces) m_to = SharedTile<D>::offset(m_row, piece());
    if (piece() * 8 >= headSize) m_row = beyond;
  }

  /// Where this thread begins in rows that begin at `row`.
  __device__ const __nv_bfloat16* start(const __nv_bfloat16* row, std::int64_t rowStride) const {
    int thread = static_cast<int>(threadIdx.x);
    hide(thread); // in a loop, the products with strides are not kept
    return row + thread / across * rowStride + thread % across * 8;
  }

  /// Starts copying a tile; rows from `present` on and elements from headSize on become zeros. from: what start() gave;
  /// the start of the next tile after the call.
  __device__ void copy(std::uint32_t tile, const __nv_bfloat16*& from, std::int64_t rowStride, int present) const {
    if (pieces < across && m_to == idle) return;
    std::uint32_t to = tile + m_to;
    hide(to);
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
      // The row of the first copy is below step: where step is 8 or more, all have its exchange; at 4, every second.
      copyAsync16((to ^ (SharedTile<D>::exchange(i * step) * 16)) + i * step * SharedTile<D>::rowBytes, from,
                  m_row + i * step < present);
      from += step * rowStride;
      hide(from); // or the addresses of all copies would be kept
    }
  }

 private:
  static constexpr std::uint32_t idle = 0xffffffffu;
  static constexpr int beyond = 1 << 30;

  __device__ static int piece() {
    return static_cast<int>(threadIdx.x) % across;
  }

  std::uint32_t m_to; // offset in a tile
  int m_row;
};

/// Writes 16 * rowTiles rows of a warp's accumulators, columns [8 * firstPiece, 8 * firstPiece + 8 * columnTiles), to
/// rows of a head by way of shared memory (as many rows of a tile, this warp's own), so that stores are of 16 bytes.
/// factors: for rows lane / 4 and lane / 4 + 8 of each row tile.
template <int D, int rowTiles, int columnTiles>
__device__ void storeRows(const float (&values)[rowTiles][columnTiles][4], const float (&factors)[rowTiles][2],
                          std::byte* staging, __nv_bfloat16* to, std::int64_t rowStride, int present, int headSize,
                          int firstPiece) {
  using Tile = SharedTile<D>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int c = 0; c < columnTiles; ++c) {
    // Rows 8 apart have the same exchange.
    std::byte* const at = staging + Tile::offset(lane / 4, firstPiece + c) + lane % 4 * 4;
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<std::uint32_t*>(at + (r * 16 + half * 8) * Tile::rowBytes) =
            packBf16(values[r][c][2 * half] * factors[r][half], values[r][c][2 * half + 1] * factors[r][half]);
      }
    }
  }
  __syncwarp();
  for (int index = lane; index < rowTiles * 16 * columnTiles; index += 32) {
    const int row = index / columnTiles, piece = firstPiece + index % columnTiles;
    if (row >= present || piece * 8 >= headSize) continue;
    *reinterpret_cast<uint4*>(to + row * rowStride + piece * 8) =
        *reinterpret_cast<const uint4*>(staging + Tile::offset(row, piece));
  }
  __syncwarp(); // the staging rows may be used again
}

} // namespace millrace::cuda

// What the two kernels of the backward pass share. Both recompute probabilities from scores and lse (Dao 2022, 2023):
// a block owns rows of one side (keys with values, or queries with dOut), whose operands stay with it, and streams rows
// of the other side past them in tiles of 16 by 16. Results of multiply() become its left operand in registers, so
// that only the streamed tiles pass through shared memory.
#pragma once

#include "device/cuda/ops/attention_problem.cuh"
#include "device/cuda/ops/attention_softmax.cuh"
#include "device/cuda/ops/attention_tile.cuh"
#include "device/cuda/ops/attention_tiles.h"
#include "device/cuda/ops/kernel_launch.cuh"

namespace millrace::cuda {

struct BackwardInput {
  AttentionProblem problem;
  HeadRows<const __nv_bfloat16> q, k, v, dOut;
  HeadRows<__nv_bfloat16> dQ, dK, dV;
  const float* lse;  // (B, heads, T)
  const float* sums; // (B, heads, T): of dOut * out
  int tiles;         // of own rows

  BackwardInput(const AttentionBackwardArgs& args, int rows)
      : problem(args),
        q(args.q),
        k(args.k),
        v(args.v),
        dOut(args.dOut),
        dQ(args.dQ),
        dK(args.dK),
        dV(args.dV),
        lse(args.lse.as<float>()),
        sums(args.scratch.as<float>()),
        tiles((problem.keys + rows - 1) / rows) {}
};

/// A warp's own rows of one operand, as left operands of multiply(): in registers, read once from global memory, or in
/// a tile of shared memory where the registers do not hold them.
template <int D, int rowTiles, bool inShared>
class OwnRows;

template <int D, int rowTiles>
class OwnRows<D, rowTiles, false> {
 public:
  /// from: the warp's first row.
  __device__ void load(const __nv_bfloat16* from, std::int64_t rowStride, int present, int headSize) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
#pragma unroll
      for (int k = 0; k < D / 16; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = r * 16 + i % 2 * 8 + lane / 4, column = k * 16 + i / 2 * 8 + lane % 4 * 2;
          m_rows[r][k][i] = row < present && column < headSize
                                ? *reinterpret_cast<const std::uint32_t*>(from + row * rowStride + column)
                                : 0;
        }
      }
    }
  }
  __device__ void left(std::uint32_t (&a)[4], const TileReader<D>&, int rowTile, int k) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = m_rows[rowTile][k][i];
  }

 private:
  std::uint32_t m_rows[rowTiles][D / 16][4];
};

template <int D, int rowTiles>
class OwnRows<D, rowTiles, true> {
 public:
  /// tile: the warp's rows of it.
  __device__ void use(std::uint32_t tile) { m_tile = tile; }
  __device__ void left(std::uint32_t (&a)[4], const TileReader<D>& reader, int rowTile, int k) const {
    reader.left(a, m_tile, rowTile * 16, 2 * k);
  }

 private:
  std::uint32_t m_tile;
};

/// The scores of own rows with 16 streamed rows, and the products that their gradients are made of.
template <int rowTiles>
struct GradientTile {
  float scores[rowTiles][2][4] = {};
  float products[rowTiles][2][4] = {};

  template <int D, bool inShared>
  __device__ void compute(const OwnRows<D, rowTiles, inShared>& own1, const OwnRows<D, rowTiles, inShared>& own2,
                          const TileReader<D>& reader, std::uint32_t streamed1, std::uint32_t streamed2, int row) {
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      std::uint32_t b1[4], b2[4];
      reader.rightTransposed(b1, streamed1, row, 2 * k);
      reader.rightTransposed(b2, streamed2, row, 2 * k);
#pragma unroll
      for (int r = 0; r < rowTiles; ++r) {
        std::uint32_t a1[4], a2[4];
        own1.left(a1, reader, r, k);
        own2.left(a2, reader, r, k);
        multiply(scores[r][0], a1, b1[0], b1[1]);
        multiply(products[r][0], a2, b2[0], b2[1]);
        multiply(scores[r][1], a1, b1[2], b1[3]);
        multiply(products[r][1], a2, b2[2], b2[3]);
      }
    }
  }
};

/// to += left * rows [row, row + 16) of a tile, columns from a piece on.
template <int D, int rowTiles, int columnTiles>
__device__ void accumulate(float (&to)[rowTiles][columnTiles][4], const std::uint32_t (&left)[rowTiles][4],
                           const TileReader<D>& reader, std::uint32_t tile, int row, int firstPiece) {
#pragma unroll
  for (int c = 0; c < columnTiles; c += 2) {
    std::uint32_t b[4];
    reader.right(b, tile, row, firstPiece + c);
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
      multiply(to[r][c], left[r], b[0], b[1]);
      multiply(to[r][c + 1], left[r], b[2], b[3]);
    }
  }
}

} // namespace millrace::cuda

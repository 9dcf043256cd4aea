// Forward attention on the matrix units (Dao 2022, 2023): a block owns a tile of queries of one head and walks over the
// keys that some of them see, a tile at a time. While a tile of keys is used its values are being copied, and while the
// values are used, the next keys.
#pragma once

#include "device/cuda/ops/attention_problem.cuh"
#include "device/cuda/ops/attention_softmax.cuh"
#include "device/cuda/ops/attention_tile.cuh"
#include "device/cuda/ops/attention_tiles.h"
#include "device/cuda/ops/kernel_launch.cuh"

namespace millrace::cuda {

struct ForwardInput {
  AttentionProblem problem;
  HeadRows<const __nv_bfloat16> q, k, v;
  HeadRows<__nv_bfloat16> out;
  float* lse; // (B, heads, Tq)
  int tiles;  // of queries
};

template <int D, bool capped>
class ForwardBlock {
  static constexpr ForwardTiles the = forwardTiles(D);
  static constexpr int R = the.rowTiles, queryRows = the.queries(), keyRows = the.keys, threads = the.threads();
  static constexpr int keyTiles = keyRows / 8, columnTiles = D / 8;
  using Tile = SharedTile<D>;

 public:
  __device__ explicit ForwardBlock(const ForwardInput& input)
      : m_in(input),
        m_of(input.problem),
        m_owner(input.tiles, m_of.heads, 1),
        m_query((input.tiles - 1 - m_owner.tile) * queryRows), // the last queries see the most keys: longest first
        m_present(min(queryRows, m_of.queries - m_query)),
        m_position(m_of.firstPosition() + m_query),
        m_warpRow(static_cast<int>(threadIdx.x) / 32 * R * 16),
        m_lane(static_cast<int>(threadIdx.x) % 32),
        m_reader(m_lane) {
    m_firstKeys = reinterpret_cast<int*>(sharedMemory() + (queryRows + 2 * keyRows) * Tile::rowBytes);
  }

  __device__ void run() {
    const std::uint32_t queries = sharedAddress(sharedMemory());
    const std::uint32_t keys = queries + queryRows * Tile::rowBytes, values = keys + keyRows * Tile::rowBytes;
    const int kvHead = m_owner.head / m_of.group;
    const int keyEnd = m_position + m_present;
    const int keyBegin = m_of.firstKey(m_position, m_of.startOf(m_owner.row, m_position));

    const TileCopier<D, queryRows, threads> queryCopier(m_of.headSize);
    const __nv_bfloat16* q = queryCopier.start(m_in.q.at(m_owner.row, m_owner.head, m_query), m_in.q.rowStride);
    queryCopier.copy(queries, q, m_in.q.rowStride, m_present);
    const TileCopier<D, keyRows, threads> copier(m_of.headSize);
    const __nv_bfloat16* k = copier.start(m_in.k.at(m_owner.row, kvHead, keyBegin), m_in.k.rowStride);
    const __nv_bfloat16* v = copier.start(m_in.v.at(m_owner.row, kvHead, keyBegin), m_in.v.rowStride);
    copier.copy(keys, k, m_in.k.rowStride, m_of.keys - keyBegin);
    endCopyGroup();
    for (int i = static_cast<int>(threadIdx.x); i < queryRows; i += threads) {
      const int position = m_position + min(i, m_present - 1);
      m_firstKeys[i] = m_of.firstKey(position, m_of.startOf(m_owner.row, position));
    }

    float out[R][columnTiles][4] = {};
    OnlineSoftmax<R> softmax(m_of.scale * log2OfE);
    for (int key = keyBegin; key < keyEnd; key += keyRows) {
      m_reader.forget();
      waitForCopies<0>();
      __syncthreads(); // the keys are there, and everyone is done with the values of the tile before
      copier.copy(values, v, m_in.v.rowStride, m_of.keys - key);
      endCopyGroup();
      const bool visible = warpSees(key);
      float scores[R][keyTiles][4] = {};
      if (visible) scoresOf(scores, queries, keys);
      waitForCopies<0>();
      __syncthreads(); // the values are there, and everyone is done with the keys
      if (key + keyRows < keyEnd) copier.copy(keys, k, m_in.k.rowStride, m_of.keys - key - keyRows);
      endCopyGroup();
      if (!visible) continue;
      if constexpr (capped) cap(scores);
      if (needsMask(key)) mask(scores, key);
      softmax.step(scores, out);
      addValues(out, scores, values);
    }
    store(softmax, out);
  }

 private:
  /// Whether a query of this warp sees a key of the tile.
  __device__ bool warpSees(int key) const {
    if (m_warpRow >= m_present) return false;
    return key < m_position + m_warpRow + R * 16 && key + keyRows > m_firstKeys[m_warpRow];
  }
  /// Whether a query of this warp does not see a key of the tile.
  __device__ bool needsMask(int key) const {
    return key + keyRows > m_position + m_warpRow + 1 || key < m_firstKeys[m_warpRow + R * 16 - 1];
  }

  __device__ void scoresOf(float (&scores)[R][keyTiles][4], std::uint32_t queries, std::uint32_t keys) const {
    // Unrolled whole, more operands would be loaded ahead than there are registers for.
    constexpr int depth = D / 16 % 4 == 0 ? 4 : D / 16;
#pragma unroll depth
    for (int k = 0; k < D / 16; ++k) {
      std::uint32_t a[R][4];
#pragma unroll
      for (int r = 0; r < R; ++r) m_reader.left(a[r], queries, m_warpRow + r * 16, 2 * k);
#pragma unroll
      for (int n = 0; n < keyTiles; n += 2) {
        std::uint32_t b[4];
        m_reader.rightTransposed(b, keys, n * 8, 2 * k);
#pragma unroll
        for (int r = 0; r < R; ++r) {
          multiply(scores[r][n], a[r], b[0], b[1]);
          multiply(scores[r][n + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  __device__ void cap(float (&scores)[R][keyTiles][4]) const {
#pragma unroll
    for (auto& row : scores) {
#pragma unroll
      for (auto& tile : row) {
#pragma unroll
        for (float& score : tile) slopeOfCap<true>(m_of, score, FastTanh());
      }
    }
  }

  __device__ void mask(float (&scores)[R][keyTiles][4], int key) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = m_warpRow + r * 16 + half * 8 + m_lane / 4;
        // Columns are this lane's, less where its own begin: numbers known to the compiler.
        const int firstColumn = key + m_lane % 4 * 2;
        const int first = m_firstKeys[row] - firstColumn, last = m_position + row - firstColumn;
#pragma unroll
        for (int n = 0; n < keyTiles; ++n) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int column = n * 8 + i;
            if (column < first || column > last) scores[r][n][2 * half + i] = -INFINITY;
          }
        }
      }
    }
  }

  __device__ void addValues(float (&out)[R][columnTiles][4], const float (&probabilities)[R][keyTiles][4],
                            std::uint32_t values) {
#pragma unroll
    for (int k = 0; k < keyRows / 16; ++k) {
      m_reader.forget();
      std::uint32_t a[R][4];
#pragma unroll
      for (int r = 0; r < R; ++r) asLeft(a[r], probabilities[r][2 * k], probabilities[r][2 * k + 1]);
#pragma unroll
      for (int c = 0; c < columnTiles; c += 2) {
        std::uint32_t b[4];
        m_reader.right(b, values, k * 16, c);
#pragma unroll
        for (int r = 0; r < R; ++r) {
          multiply(out[r][c], a[r], b[0], b[1]);
          multiply(out[r][c + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  __device__ void store(OnlineSoftmax<R>& softmax, const float (&out)[R][columnTiles][4]) const {
    softmax.finish();
    float factors[R][2];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        factors[r][half] = 1.0f / softmax.sum(r, half);
        const int row = m_warpRow + r * 16 + half * 8 + m_lane / 4;
        if (m_lane % 4 == 0 && row < m_present) {
          m_in.lse[m_of.statistic(m_owner.row, m_owner.head) + m_query + row] = softmax.logSum(r, half, m_of.scale);
        }
      }
    }
    // Over this warp's queries, which only this warp reads.
    storeRows<D, R, columnTiles>(out, factors, sharedMemory() + m_warpRow * Tile::rowBytes,
                                 m_in.out.at(m_owner.row, m_owner.head, m_query + m_warpRow), m_in.out.rowStride,
                                 m_present - m_warpRow, m_of.headSize, 0);
  }

  const ForwardInput& m_in;
  const AttentionProblem& m_of;
  BlockOwner m_owner;
  int m_query, m_present, m_position; // first query of the block, how many there are, position of the first
  int m_warpRow, m_lane;              // first of this warp's queries in the block
  TileReader<D> m_reader;
  int* m_firstKeys; // (queryRows): what each query sees first; of rows beyond the last, as the last
};

template <int D, bool capped>
__global__ void __launch_bounds__(forwardTiles(D).threads(), forwardTiles(D).blocksPerProcessor)
    forwardKernel(const __grid_constant__ ForwardInput input) {
  ForwardBlock<D, capped>(input).run();
}

} // namespace millrace::cuda

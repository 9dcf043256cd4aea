// dQ on the matrix units: a block owns queries of one head and streams the keys and values that some of them see.
#pragma once

#include "device/cuda/ops/attention_backward_bf16.cuh"

namespace millrace::cuda {

template <int D, bool capped>
class QueryGradientBlock {
  static constexpr BackwardTiles the = queryGradientTiles(D);
  static constexpr int R = the.rowTiles, queryRows = the.rows(), keyRows = the.streamed, threads = the.threads();
  static constexpr int columnTiles = D / 8;
  static constexpr int ownBytes = the.ownBytes(), operandBytes = the.operandBytes(), stageBytes = the.stageBytes();
  using Tile = SharedTile<D>;
  using Copier = TileCopier<D, keyRows, threads>;
  static_assert(2 * stageBytes >= queryRows * Tile::rowBytes, "results leave by way of the stages");

 public:
  __device__ explicit QueryGradientBlock(const BackwardInput& input)
      : m_in(input),
        m_of(input.problem),
        m_owner(input.tiles, m_of.heads, 1),
        m_query((input.tiles - 1 - m_owner.tile) * queryRows), // the last queries see the most keys: longest first
        m_present(min(queryRows, m_of.queries - m_query)),
        m_warpRow(static_cast<int>(threadIdx.x) / 32 * R * 16),
        m_lane(static_cast<int>(threadIdx.x) % 32),
        m_copier(m_of.headSize),
        m_reader(m_lane) {
    m_stages = sharedMemory() + ownBytes;
  }

  __device__ void run() {
    OwnRows<D, R, the.inShared> queries, dOut;
    loadOwn(queries, m_in.q, 0);
    loadOwn(dOut, m_in.dOut, 1);
    loadStatistics();
    float dQ[R][columnTiles][4] = {};

    const int kvHead = m_owner.head / m_of.group;
    const int keyBegin = m_of.firstKey(m_query, m_of.startOf(m_owner.row, m_query)), keyEnd = m_query + m_present;
    const __nv_bfloat16* k = m_copier.start(m_in.k.at(m_owner.row, kvHead, keyBegin), m_in.k.rowStride);
    const __nv_bfloat16* v = m_copier.start(m_in.v.at(m_owner.row, kvHead, keyBegin), m_in.v.rowStride);
    copyKeys(0, k, v, keyBegin);
    endCopyGroup();
    int step = 0;
    for (int key = keyBegin; key < keyEnd; key += keyRows, ++step) {
      if (key + keyRows < keyEnd) copyKeys(step + 1, k, v, key + keyRows);
      endCopyGroup();
      waitForCopies<1>();
      __syncthreads(); // this step's keys are there
      for (int first = 0; first < keyRows; first += 16) {
        m_reader.forget();
        addKeys(dQ, queries, dOut, sharedAddress(stage(step)), key, first);
      }
      __syncthreads(); // and everyone is done with them
    }

    float factors[R][2];
    for (auto& rows : factors) rows[0] = rows[1] = m_of.scale;
    storeRows<D, R, columnTiles>(dQ, factors, m_stages + m_warpRow * Tile::rowBytes,
                                 m_in.dQ.at(m_owner.row, m_owner.head, m_query + m_warpRow), m_in.dQ.rowStride,
                                 m_present - m_warpRow, m_of.headSize, 0);
  }

 private:
  __device__ void loadOwn(OwnRows<D, R, the.inShared>& own, const HeadRows<const __nv_bfloat16>& rows, int which) {
    if constexpr (the.inShared) {
      const std::uint32_t tile = sharedAddress(sharedMemory() + which * queryRows * Tile::rowBytes);
      const TileCopier<D, queryRows, threads> copier(m_of.headSize);
      const __nv_bfloat16* from = copier.start(rows.at(m_owner.row, m_owner.head, m_query), rows.rowStride);
      copier.copy(tile, from, rows.rowStride, m_present); // joins the first group of copies
      own.use(tile + m_warpRow * Tile::rowBytes);
    } else {
      own.load(rows.at(m_owner.row, m_owner.head, m_query + m_warpRow), rows.rowStride, m_present - m_warpRow,
               m_of.headSize);
    }
  }

  /// Of this lane's queries; those beyond the last are as the last, and are not stored.
  __device__ void loadStatistics() {
    const std::int64_t statistic = m_of.statistic(m_owner.row, m_owner.head);
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int query = m_query + min(m_warpRow + r * 16 + half * 8 + m_lane / 4, m_present - 1);
        m_logSum[r][half] = m_in.lse[statistic + query] * log2OfE;
        m_sum[r][half] = m_in.sums[statistic + query];
        m_firstKey[r][half] = m_of.firstKey(query, m_of.startOf(m_owner.row, query));
      }
    }
    m_warpFirst = __shfl_sync(0xffffffffu, m_firstKey[0][0], 0);
    m_warpFirstOfLast = __shfl_sync(0xffffffffu, m_firstKey[R - 1][1], 31);
  }

  __device__ std::byte* stage(int step) const {
    return m_stages + step % 2 * stageBytes;
  }

  /// k and v move on to the next tile.
  __device__ void copyKeys(int step, const __nv_bfloat16*& k, const __nv_bfloat16*& v, int key) const {
    const std::uint32_t to = sharedAddress(stage(step));
    m_copier.copy(to, k, m_in.k.rowStride, m_of.keys - key);
    m_copier.copy(to + operandBytes, v, m_in.v.rowStride, m_of.keys - key);
  }

  /// 16 keys of the tile that begins at a key.
  __device__ void addKeys(float (&dQ)[R][columnTiles][4], const OwnRows<D, R, the.inShared>& queries,
                          const OwnRows<D, R, the.inShared>& dOut, std::uint32_t keys, int key, int first) const {
    key += first;
    const int position = m_query + m_warpRow; // of this warp's first query
    if (m_warpRow >= m_present || key >= position + R * 16 || key + 16 <= m_warpFirst) return;
    const bool masked = key + 16 > position + 1 || key < m_warpFirstOfLast;

    GradientTile<R> tile;
    tile.compute(queries, dOut, m_reader, keys, keys + operandBytes, first);

    const float scaleLog2 = m_of.scale * log2OfE;
    std::uint32_t left[R][4];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = position + r * 16 + half * 8 + m_lane / 4;
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            const float slope = slopeOfCap<capped>(m_of, tile.scores[r][n][i], FastTanh());
            const float probability = fastExp2(tile.scores[r][n][i] * scaleLog2 - m_logSum[r][half]);
            float change = probability * (tile.products[r][n][i] - m_sum[r][half]) * slope;
            if (masked) {
              const int column = key + n * 8 + m_lane % 4 * 2 + i % 2;
              change = column <= row && column >= m_firstKey[r][half] ? change : 0.0f;
            }
            tile.products[r][n][i] = change;
          }
        }
      }
      asLeft(left[r], tile.products[r][0], tile.products[r][1]);
    }
    accumulate<D>(dQ, left, m_reader, keys, first, 0);
  }

  const BackwardInput& m_in;
  const AttentionProblem& m_of;
  BlockOwner m_owner;
  int m_query, m_present; // first query of the block, and how many there are
  int m_warpRow, m_lane;  // first of this warp's queries in the block
  Copier m_copier;
  TileReader<D> m_reader;
  std::byte* m_stages;
  float m_logSum[R][2], m_sum[R][2]; // log2 of the sum of the exponentials; of dOut * out
  int m_firstKey[R][2];
  int m_warpFirst, m_warpFirstOfLast; // what this warp's first and last query see first
};

template <int D, bool capped>
__global__ void __launch_bounds__(queryGradientTiles(D).threads(), queryGradientTiles(D).blocksPerProcessor)
    queryGradientKernel(const __grid_constant__ BackwardInput input) {
  QueryGradientBlock<D, capped>(input).run();
}

} // namespace millrace::cuda

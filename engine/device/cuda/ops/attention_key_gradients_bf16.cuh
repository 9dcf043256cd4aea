// dK and dV on the matrix units: a block owns keys of one key head and streams the queries that see some of them, of
// every query head of the group in turn. Scores are computed transposed, keys down.
#pragma once

#include "device/cuda/ops/attention_backward_bf16.cuh"

namespace millrace::cuda {

template <int D, bool capped>
class KeyGradientBlock {
  static constexpr BackwardTiles the = keyGradientTiles(D);
  static constexpr int R = the.rowTiles, keyRows = the.rows(), queryRows = the.streamed, threads = the.threads();
  static constexpr int columnTiles = D / 8 / the.columnSplits;
  static constexpr int ownBytes = the.ownBytes(), operandBytes = the.operandBytes(), stageBytes = the.stageBytes();
  static constexpr int statistics = 2 * operandBytes; // offset in a stage: lse, sums and document starts
  using Tile = SharedTile<D>;
  using Copier = TileCopier<D, queryRows, threads>;
  static_assert(2 * stageBytes >= keyRows * Tile::rowBytes, "results leave by way of the stages");

 public:
  __device__ explicit KeyGradientBlock(const BackwardInput& input)
      : m_in(input),
        m_of(input.problem),
        m_owner(input.tiles, m_of.kvHeads, the.columnSplits),
        m_key(m_owner.tile * keyRows), // the first keys are seen by the most queries: longest first
        m_present(min(keyRows, m_of.keys - m_key)),
        m_warpRow(static_cast<int>(threadIdx.x) / 32 * R * 16),
        m_lane(static_cast<int>(threadIdx.x) % 32),
        m_firstPiece(m_owner.split * columnTiles),
        m_copier(m_of.headSize),
        m_reader(m_lane) {
    m_stages = sharedMemory() + ownBytes;
    m_queryTiles = countQueryTiles();
  }

  __device__ void run() {
    OwnRows<D, R, the.inShared> keys, values;
    loadOwn(keys, m_in.k, 0);
    loadOwn(values, m_in.v, 1);
    float dK[R][columnTiles][4] = {}, dV[R][columnTiles][4] = {};

    const int steps = m_queryTiles * m_of.group;
    copyQueries(0);
    endCopyGroup();
    for (int step = 0; step < steps; ++step) {
      if (step + 1 < steps) copyQueries(step + 1);
      endCopyGroup();
      waitForCopies<1>();
      __syncthreads(); // this step's queries are there
      const int query = queryOf(step);
      for (int first = 0; first < queryRows; first += 16) {
        m_reader.forget();
        addQueries(dK, dV, keys, values, stage(step), first, query + first);
      }
      __syncthreads(); // and everyone is done with them
    }

    float factors[R][2];
    for (auto& rows : factors) rows[0] = rows[1] = 1.0f;
    store(dV, factors, m_in.dV);
    for (auto& rows : factors) rows[0] = rows[1] = m_of.scale;
    store(dK, factors, m_in.dK);
  }

 private:
  /// Queries come in tiles from the block's first key on. Those that see a key of the block lie side by side: neither
  /// a window nor the start of a document ever moves back.
  __device__ int countQueryTiles() const {
    const int lastKey = m_key + m_present - 1;
    const int end = m_of.window > 0 ? min(m_of.queries, lastKey + m_of.window) : m_of.queries;
    const int tiles = (end - m_key + queryRows - 1) / queryRows;
    if (!m_of.documentStart) return tiles;
    int count = 0;
    for (int first = 0; first < tiles; first += 32) {
      const int tile = first + m_lane;
      const bool sees = tile < tiles && m_of.startOf(m_owner.row, m_key + tile * queryRows) <= lastKey;
      const int seeing = __popc(__ballot_sync(0xffffffffu, sees));
      count += seeing;
      if (seeing < 32) break;
    }
    return count;
  }

  __device__ void loadOwn(OwnRows<D, R, the.inShared>& own, const HeadRows<const __nv_bfloat16>& rows, int which) {
    if constexpr (the.inShared) {
      const std::uint32_t tile = sharedAddress(sharedMemory() + which * keyRows * Tile::rowBytes);
      const TileCopier<D, keyRows, threads> copier(m_of.headSize);
      const __nv_bfloat16* from = copier.start(rows.at(m_owner.row, m_owner.head, m_key), rows.rowStride);
      copier.copy(tile, from, rows.rowStride, m_present); // joins the first group of copies
      own.use(tile + m_warpRow * Tile::rowBytes);
    } else {
      own.load(rows.at(m_owner.row, m_owner.head, m_key + m_warpRow), rows.rowStride, m_present - m_warpRow,
               m_of.headSize);
    }
  }

  __device__ std::byte* stage(int step) const { return m_stages + step % 2 * stageBytes; }
  __device__ int headOf(int step) const { return m_owner.head * m_of.group + step / m_queryTiles; }
  __device__ int queryOf(int step) const { return m_key + step % m_queryTiles * queryRows; }

  __device__ void copyQueries(int step) const {
    const int head = headOf(step), query = queryOf(step), present = m_of.queries - query;
    const std::uint32_t to = sharedAddress(stage(step));
    int row = m_owner.row;
    hide(row); // or parts of all the addresses would be kept from step to step
    const __nv_bfloat16* q = m_copier.start(m_in.q.at(row, head, query), m_in.q.rowStride);
    m_copier.copy(to, q, m_in.q.rowStride, present);
    const __nv_bfloat16* dOut = m_copier.start(m_in.dOut.at(row, head, query), m_in.dOut.rowStride);
    m_copier.copy(to + operandBytes, dOut, m_in.dOut.rowStride, present);
    // Queries beyond the last count for nothing: their dOut and sums are zeros.
    const std::int64_t statistic = m_of.statistic(row, head) + query;
    for (int i = static_cast<int>(threadIdx.x); i < queryRows; i += threads) {
      const std::uint32_t at = to + statistics + i * 4;
      copyAsync4(at, m_in.lse + statistic + i, i < present);
      copyAsync4(at + queryRows * 4, m_in.sums + statistic + i, i < present);
      if (m_of.documentStart) {
        copyAsync4(at + queryRows * 8, m_of.documentStart + row * m_of.documentStride + query + i, i < present);
      }
    }
  }

  /// 16 queries, from row `first` of a stage.
  __device__ void addQueries(float (&dK)[R][columnTiles][4], float (&dV)[R][columnTiles][4],
                             const OwnRows<D, R, the.inShared>& keys, const OwnRows<D, R, the.inShared>& values,
                             const std::byte* stage, int first, int query) const {
    const float* const lse = reinterpret_cast<const float*>(stage + statistics) + first;
    const int* const starts = reinterpret_cast<const int*>(lse + 2 * queryRows);
    const auto firstKey = [&](int position, int i) {
      return m_of.firstKey(position, m_of.documentStart ? starts[i] : 0);
    };
    const int key = m_key + m_warpRow;
    const int count = min(16, m_of.queries - query); // of queries that exist
    if (count <= 0 || query + count <= key || firstKey(query, 0) >= key + R * 16) return;
    const bool masked = query < key + R * 16 - 1 || firstKey(query + count - 1, count - 1) > key;

    const std::uint32_t queries = sharedAddress(stage), dOut = queries + operandBytes;
    GradientTile<R> tile;
    tile.compute(keys, values, m_reader, queries, dOut, first);

    const float scaleLog2 = m_of.scale * log2OfE;
    const int laneKey = key + m_lane / 4; // the lane's rows are this and numbers known to the compiler
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = n * 8 + m_lane % 4 * 2 + i;
        const float logSum = lse[column] * log2OfE, sum = lse[queryRows + column];
        // The rows that the query sees.
        const int firstRow = masked ? firstKey(query + column, column) - laneKey : 0,
                  lastRow = query + column - laneKey;
#pragma unroll
        for (int r = 0; r < R; ++r) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            float& score = tile.scores[r][n][2 * half + i];
            float& product = tile.products[r][n][2 * half + i];
            const float slope = slopeOfCap<capped>(m_of, score, FastTanh());
            float probability = fastExp2(score * scaleLog2 - logSum);
            float change = probability * (product - sum) * slope;
            if (masked) {
              const bool visible = r * 16 + half * 8 <= lastRow && r * 16 + half * 8 >= firstRow;
              probability = visible ? probability : 0.0f;
              change = visible ? change : 0.0f;
            }
            score = probability;
            product = change;
          }
        }
      }
    }

    std::uint32_t left[R][4];
#pragma unroll
    for (int r = 0; r < R; ++r) asLeft(left[r], tile.scores[r][0], tile.scores[r][1]);
    accumulate<D>(dV, left, m_reader, dOut, first, m_firstPiece);
#pragma unroll
    for (int r = 0; r < R; ++r) asLeft(left[r], tile.products[r][0], tile.products[r][1]);
    accumulate<D>(dK, left, m_reader, queries, first, m_firstPiece);
  }

  __device__ void store(const float (&values)[R][columnTiles][4], const float (&factors)[R][2],
                        const HeadRows<__nv_bfloat16>& to) const {
    storeRows<D, R, columnTiles>(values, factors, m_stages + m_warpRow * Tile::rowBytes,
                                 to.at(m_owner.row, m_owner.head, m_key + m_warpRow), to.rowStride,
                                 m_present - m_warpRow, m_of.headSize, m_firstPiece);
  }

  const BackwardInput& m_in;
  const AttentionProblem& m_of;
  BlockOwner m_owner;
  int m_key, m_present;  // first key of the block, and how many there are
  int m_warpRow, m_lane; // first of this warp's keys in the block
  int m_firstPiece;      // of the columns of dK and dV that this block sums
  int m_queryTiles;      // of each head
  Copier m_copier;
  TileReader<D> m_reader;
  std::byte* m_stages;
};

template <int D, bool capped>
__global__ void __launch_bounds__(keyGradientTiles(D).threads(), keyGradientTiles(D).blocksPerProcessor)
    keyGradientKernel(const __grid_constant__ BackwardInput input) {
  KeyGradientBlock<D, capped>(input).run();
}

} // namespace millrace::cuda

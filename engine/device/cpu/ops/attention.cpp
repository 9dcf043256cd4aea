#include "device/cpu/ops/attention.h"

#include "device/cpu/ops/attention_shape.h"
#include "device/cpu/ops/matmul_onednn.h"
#include "device/cpu/ops/simd_scratch.h"
#include "device/cpu/ops/softcap_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace millrace::cpu {

namespace {

constexpr std::int64_t mostRows = AttentionBlocks::forwardRows;
constexpr std::int64_t keyBlock = AttentionBlocks::forwardKeys;
constexpr std::int64_t scoreStride = keyBlock + attentionPadding;
constexpr std::int64_t mostHeads = AttentionBlocks::forwardHeads;

class Forward {
 public:
  explicit Forward(const AttentionArgs& args)
      : m_args(args),
        m_simd(attentionSimd()),
        m_softcap(MILLRACE_ISA_FUNCTION(bestIsa(), softcapRows)),
        m_shape(args.q, args.k),
        m_heads(std::min(m_shape.group, mostHeads)),
        m_queries(std::min(mostRows / m_heads, m_shape.queries)),
        m_headChunks((m_shape.group + m_heads - 1) / m_heads),
        m_queryBlocks((m_shape.queries + m_queries - 1) / m_queries) {}

  void run(ThreadPool& pool) const {
    const std::int64_t rows = m_shape.batch * m_shape.kvHeads * m_headChunks;
    // The last queries see the most keys: longest tasks first.
    pool.parallelFor(rows * m_queryBlocks,
                     [&](std::int64_t index) { block(index % rows, m_queryBlocks - 1 - index / rows); });
  }

 private:
  /// A block of queries of some heads that share keys: row i * heads + h of the tiles is query i of head h.
  void block(std::int64_t index, std::int64_t queryBlock) const {
    const std::int64_t chunk = index % m_headChunks;
    const std::int64_t kvHead = index / m_headChunks % m_shape.kvHeads;
    const std::int64_t batchRow = index / m_headChunks / m_shape.kvHeads;
    const std::int64_t head = kvHead * m_shape.group + chunk * m_heads;
    const std::int64_t heads = std::min(m_heads, m_shape.group - chunk * m_heads);
    const std::int64_t query = queryBlock * m_queries;
    const std::int64_t queries = std::min(m_queries, m_shape.queries - query);
    const std::int64_t rows = queries * heads, size = m_shape.headSize;

    ScratchPieces pieces(threadScratch(ScratchSlot::Tile, attentionForwardScratchFloats(size)));
    float* const q = pieces.take(mostRows * size);
    float* const out = pieces.take(mostRows * size);
    float* const k = pieces.take(keyBlock * size);
    float* const v = pieces.take(keyBlock * size);
    float* const scores = pieces.take(mostRows * scoreStride);

    std::array<float, mostRows> maximum, sum;
    std::array<std::int32_t, mostRows> first, end;
    maximum.fill(-std::numeric_limits<float>::infinity());
    sum.fill(0);
    std::fill_n(out, rows * size, 0.0f);
    packHeads(m_simd, m_args.q, batchRow, query, queries, head, heads, q, m_args.scale * log2OfE);
    std::int64_t firstKey = m_shape.keys, endKey = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const VisibleKeys seen = visible(batchRow, query + r / heads);
      first[r] = seen.first;
      end[r] = seen.end;
      firstKey = std::min<std::int64_t>(firstKey, seen.first);
      endKey = std::max<std::int64_t>(endKey, seen.end);
    }

    std::array<std::int32_t, mostRows> firstColumn, endColumn;
    for (std::int64_t key = firstKey; key < endKey; key += keyBlock) {
      const std::int64_t keys = std::min(keyBlock, endKey - key);
      // Rows outside [from, to) see none of these keys.
      std::int64_t from = rows, to = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        firstColumn[r] = static_cast<std::int32_t>(first[r] - key);
        endColumn[r] = static_cast<std::int32_t>(end[r] - key);
        if (firstColumn[r] >= keys || endColumn[r] <= 0) continue;
        from = std::min(from, r);
        to = r + 1;
      }
      if (from >= to) continue;
      packHeads(m_simd, m_args.k, batchRow, key, keys, kvHead, 1, k, 1.0f);
      packHeads(m_simd, m_args.v, batchRow, key, keys, kvHead, 1, v, 1.0f);
      float* const tile = scores + from * scoreStride;
      sgemm(false, true, to - from, keys, size, q + from * size, size, k, size, false, tile, scoreStride);
      if (m_args.softcap > 0) m_softcap(tile, scoreStride, to - from, keys, m_args.softcap * log2OfE);
      m_simd.softmax({.scores = tile,
                      .stride = scoreStride,
                      .rows = to - from,
                      .columns = keys,
                      .first = firstColumn.data() + from,
                      .end = endColumn.data() + from,
                      .maximum = maximum.data() + from,
                      .sum = sum.data() + from,
                      .out = out + from * size,
                      .outStride = size,
                      .width = size});
      sgemm(false, false, to - from, size, keys, tile, scoreStride, v, size, true, out + from * size, size);
    }

    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t position = query + r / heads, of = head + r % heads;
      unpackHead(m_simd, out + r * size, m_args.out, batchRow, position, 1, of, 1.0f / sum[r]);
      float* const lse = m_args.lse.as<float>() + batchRow * m_args.lse.strides[0] + of * m_args.lse.strides[1];
      lse[position] = static_cast<float>((static_cast<double>(maximum[r]) + std::log2(static_cast<double>(sum[r]))) *
                                         static_cast<double>(logOf2));
    }
  }

  VisibleKeys visible(std::int64_t batchRow, std::int64_t query) const {
    return visibleKeys(m_args.documentStart, m_args.window, batchRow, m_shape.keys - m_shape.queries + query);
  }

  const AttentionArgs& m_args;
  const AttentionSimd& m_simd;
  decltype(&baseline::softcapRows) m_softcap;
  AttentionShape m_shape;
  std::int64_t m_heads, m_queries;          // of a task, at most
  std::int64_t m_headChunks, m_queryBlocks; // of a group of heads, of a row
};

} // namespace

void attention(ThreadPool& pool, const AttentionArgs& args) {
  Forward(args).run(pool);
}

} // namespace millrace::cpu

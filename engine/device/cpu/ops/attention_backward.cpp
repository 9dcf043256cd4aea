#include "device/cpu/ops/attention_backward.h"

#include "device/cpu/ops/attention_shape.h"
#include "device/cpu/ops/matmul_onednn.h"
#include "device/cpu/ops/simd_scratch.h"
#include "device/cpu/ops/softcap_kernels.h"

#include <algorithm>
#include <array>

namespace millrace::cpu {

namespace {

constexpr std::int64_t queryBlock = AttentionBlocks::backwardQueries;
constexpr std::int64_t keyStep = AttentionBlocks::backwardKeys;
constexpr std::int64_t tileStride = queryBlock + attentionPadding;
/// From so many (row, kv head) pairs on, each is one task with five products a tile. Fewer would leave threads idle:
/// then dQ is computed on its own by blocks of queries, and dK and dV by blocks of keys, with seven products a tile.
constexpr std::int64_t enoughPairs = 8;

/// A block of queries of one head, packed: what tiles need to know about it.
struct QueryBlock {
  std::int64_t begin = 0, count = 0;
  std::int64_t firstKey = 0, endKey = 0; // keys that some query sees
  std::int64_t allFirst = 0, allEnd = 0; // keys that every query sees
  std::array<std::int32_t, queryBlock> first{}, end{};
  std::array<float, queryBlock> logSum{}, delta{};
  float* q = nullptr;    // (count, D), times scale * log2(e)
  float* dOut = nullptr; // (count, D)
};

struct KeyBlock {
  std::int64_t begin = 0, count = 0;
  float* k = nullptr;  // (count, D)
  float* v = nullptr;  // (count, D)
  float* dK = nullptr; // (count, D) so far, without the scale; absent when only dQ is wanted
  float* dV = nullptr;
};

class Backward {
 public:
  explicit Backward(const AttentionBackwardArgs& args)
      : m_args(args),
        m_simd(attentionSimd()),
        m_softcap(MILLRACE_ISA_FUNCTION(bestIsa(), softcapRows)),
        m_shape(args.q, args.k),
        m_delta(args.scratch.as<float>()),
        m_dQ(m_delta + m_shape.batch * m_shape.heads * m_shape.queries) {}

  void run(ThreadPool& pool) const {
    const std::int64_t pairs = m_shape.batch * m_shape.kvHeads;
    const std::int64_t keyBlocks = (m_shape.keys + keyStep - 1) / keyStep;
    const std::int64_t queryBlocks = (m_shape.queries + queryBlock - 1) / queryBlock;
    pool.parallelFor(m_shape.batch * queryBlocks,
                     [&](std::int64_t index) { deltas(index / queryBlocks, index % queryBlocks * queryBlock); });
    if (pairs >= enoughPairs) {
      pool.parallelFor(pairs, [&](std::int64_t pair) { allOfPair(pair / m_shape.kvHeads, pair % m_shape.kvHeads); });
      return;
    }
    // Early keys are seen by the most queries, late queries see the most keys: longest tasks first.
    pool.parallelFor(pairs * keyBlocks, [&](std::int64_t index) {
      const std::int64_t pair = index % pairs;
      keysOfPair(pair / m_shape.kvHeads, pair % m_shape.kvHeads, index / pairs * keyStep, false);
    });
    const std::int64_t heads = m_shape.batch * m_shape.heads;
    pool.parallelFor(heads * queryBlocks, [&](std::int64_t index) {
      const std::int64_t head = index % heads;
      queriesOfHead(head / m_shape.heads, head % m_shape.heads, (queryBlocks - 1 - index / heads) * queryBlock);
    });
  }

 private:
  struct Tiles {
    float *k, *v, *dK, *dV, *q, *dOut, *dQ, *scores, *products;
  };

  Tiles tiles() const {
    const std::int64_t size = m_shape.headSize;
    ScratchPieces pieces(threadScratch(ScratchSlot::Tile, attentionBackwardScratchFloats(size)));
    Tiles tiles{};
    for (float** keys : {&tiles.k, &tiles.v, &tiles.dK, &tiles.dV}) *keys = pieces.take(keyStep * size);
    for (float** queries : {&tiles.q, &tiles.dOut, &tiles.dQ}) *queries = pieces.take(queryBlock * size);
    for (float** square : {&tiles.scores, &tiles.products}) *square = pieces.take(keyStep * tileStride);
    return tiles;
  }

  float* deltaOf(std::int64_t row, std::int64_t head) const {
    return m_delta + (row * m_shape.heads + head) * m_shape.queries;
  }
  float* dQOf(std::int64_t row, std::int64_t head) const {
    return m_dQ + (row * m_shape.heads + head) * m_shape.queries * m_shape.headSize;
  }

  /// dOut . out of a block of queries, all heads.
  void deltas(std::int64_t row, std::int64_t begin) const {
    const std::int64_t count = std::min(queryBlock, m_shape.queries - begin);
    const TensorView &dOut = m_args.dOut, &out = m_args.out;
    for (std::int64_t head = 0; head < m_shape.heads; ++head) {
      float* const to = deltaOf(row, head) + begin;
      const std::int64_t a = row * dOut.strides[0] + begin * dOut.strides[1] + head * dOut.strides[2];
      const std::int64_t b = row * out.strides[0] + begin * out.strides[1] + head * out.strides[2];
      if (dOut.dtype == DType::BF16) {
        m_simd.rowDotsWiden(reinterpret_cast<const std::uint16_t*>(dOut.as<BFloat16>()) + a, dOut.strides[1],
                            reinterpret_cast<const std::uint16_t*>(out.as<BFloat16>()) + b, out.strides[1], to, count,
                            m_shape.headSize);
      } else {
        m_simd.rowDots(dOut.as<float>() + a, dOut.strides[1], out.as<float>() + b, out.strides[1], to, count,
                       m_shape.headSize);
      }
    }
  }

  QueryBlock describe(std::int64_t row, std::int64_t begin, const Tiles& tiles) const {
    QueryBlock block;
    block.begin = begin;
    block.count = std::min(queryBlock, m_shape.queries - begin);
    block.q = tiles.q;
    block.dOut = tiles.dOut;
    block.firstKey = block.allEnd = m_shape.keys;
    for (std::int64_t i = 0; i < block.count; ++i) {
      const VisibleKeys seen = visibleKeys(m_args.documentStart, m_args.window, row, begin + i);
      block.first[i] = seen.first;
      block.end[i] = seen.end;
      block.firstKey = std::min<std::int64_t>(block.firstKey, seen.first);
      block.endKey = std::max<std::int64_t>(block.endKey, seen.end);
      block.allFirst = std::max<std::int64_t>(block.allFirst, seen.first);
      block.allEnd = std::min<std::int64_t>(block.allEnd, seen.end);
    }
    return block;
  }

  void pack(QueryBlock& block, std::int64_t row, std::int64_t head) const {
    packHeads(m_simd, m_args.q, row, block.begin, block.count, head, 1, block.q, m_args.scale * log2OfE);
    packHeads(m_simd, m_args.dOut, row, block.begin, block.count, head, 1, block.dOut, 1.0f);
    const float* const delta = deltaOf(row, head) + block.begin;
    const TensorView& lse = m_args.lse;
    const float* const logSum = lse.as<float>() + row * lse.strides[0] + head * lse.strides[1] + block.begin;
    for (std::int64_t i = 0; i < block.count; ++i) {
      block.delta[i] = delta[i];
      block.logSum[i] = logSum[i] * log2OfE;
    }
  }

  KeyBlock keys(std::int64_t row, std::int64_t kvHead, std::int64_t begin, std::int64_t end, const Tiles& tiles) const {
    KeyBlock block{.begin = begin, .count = std::min(keyStep, end - begin), .k = tiles.k, .v = tiles.v};
    packHeads(m_simd, m_args.k, row, block.begin, block.count, kvHead, 1, block.k, 1.0f);
    packHeads(m_simd, m_args.v, row, block.begin, block.count, kvHead, 1, block.v, 1.0f);
    return block;
  }

  /// Adds what a block of queries and a block of keys that sees each other contribute, to dK and dV where present and
  /// to dQ (queries, D; without the scale) where given.
  void tile(const QueryBlock& queries, const KeyBlock& keys, const Tiles& tiles, float* dQ) const {
    const std::int64_t size = m_shape.headSize;
    const std::int64_t begin = std::max(keys.begin, queries.firstKey);
    const std::int64_t end = std::min(keys.begin + keys.count, queries.endKey);
    const std::int64_t count = end - begin, offset = (begin - keys.begin) * size;
    sgemm(false, true, count, queries.count, size, keys.k + offset, size, queries.q, size, false, tiles.scores,
          tileStride);
    sgemm(false, true, count, queries.count, size, keys.v + offset, size, queries.dOut, size, false, tiles.products,
          tileStride);
    const float softcap = m_args.softcap * log2OfE;
    if (softcap > 0) m_softcap(tiles.scores, tileStride, count, queries.count, softcap);
    m_simd.gradient({.scores = tiles.scores,
                     .products = tiles.products,
                     .stride = tileStride,
                     .keys = count,
                     .queries = queries.count,
                     .firstKey = begin,
                     .masked = begin < queries.allFirst || end > queries.allEnd,
                     .first = queries.first.data(),
                     .end = queries.end.data(),
                     .logSum = queries.logSum.data(),
                     .delta = queries.delta.data(),
                     .softcap = softcap});
    if (keys.dV) {
      sgemm(false, false, count, size, queries.count, tiles.scores, tileStride, queries.dOut, size, true,
            keys.dV + offset, size);
      sgemm(false, false, count, size, queries.count, tiles.products, tileStride, queries.q, size, true,
            keys.dK + offset, size);
    }
    if (dQ) {
      sgemm(true, false, queries.count, size, count, tiles.products, tileStride, keys.k + offset, size, true, dQ, size);
    }
  }

  /// dK and dV of a block of keys: heads of the group in ascending order, of each the queries in ascending order. Adds
  /// to dQ in the scratch when wanted.
  void keysOfPair(std::int64_t row, std::int64_t kvHead, std::int64_t begin, bool wantDQ) const {
    const Tiles tiles = this->tiles();
    const std::int64_t size = m_shape.headSize;
    KeyBlock block = keys(row, kvHead, begin, m_shape.keys, tiles);
    block.dK = tiles.dK;
    block.dV = tiles.dV;
    std::fill_n(block.dK, block.count * size, 0.0f);
    std::fill_n(block.dV, block.count * size, 0.0f);
    for (std::int64_t head = kvHead * m_shape.group; head < (kvHead + 1) * m_shape.group; ++head) {
      for (std::int64_t query = begin; query < m_shape.queries; query += queryBlock) {
        if (m_args.window > 0 && query - m_args.window + 1 >= begin + block.count) break; // nor do later ones see it
        QueryBlock queries = describe(row, query, tiles);
        if (queries.firstKey >= begin + block.count) continue;
        pack(queries, row, head);
        tile(queries, block, tiles, wantDQ ? dQOf(row, head) + query * size : nullptr);
      }
    }
    // q was packed with scale * log2(e), so dK lacks a factor of log(2).
    unpackHead(m_simd, block.dK, m_args.dK, row, begin, block.count, kvHead, logOf2);
    unpackHead(m_simd, block.dV, m_args.dV, row, begin, block.count, kvHead, 1.0f);
  }

  void allOfPair(std::int64_t row, std::int64_t kvHead) const {
    const std::int64_t head = kvHead * m_shape.group, size = m_shape.headSize;
    std::fill_n(dQOf(row, head), m_shape.group * m_shape.queries * size, 0.0f);
    for (std::int64_t key = 0; key < m_shape.keys; key += keyStep) keysOfPair(row, kvHead, key, true);
    for (std::int64_t h = head; h < head + m_shape.group; ++h) {
      unpackHead(m_simd, dQOf(row, h), m_args.dQ, row, 0, m_shape.queries, h, m_args.scale);
    }
  }

  /// dQ of a block of queries: keys in ascending order.
  void queriesOfHead(std::int64_t row, std::int64_t head, std::int64_t begin) const {
    const Tiles tiles = this->tiles();
    QueryBlock queries = describe(row, begin, tiles);
    pack(queries, row, head);
    std::fill_n(tiles.dQ, queries.count * m_shape.headSize, 0.0f);
    for (std::int64_t key = queries.firstKey; key < queries.endKey; key += keyStep) {
      tile(queries, keys(row, head / m_shape.group, key, queries.endKey, tiles), tiles, tiles.dQ);
    }
    unpackHead(m_simd, tiles.dQ, m_args.dQ, row, begin, queries.count, head, m_args.scale);
  }

  const AttentionBackwardArgs& m_args;
  const AttentionSimd& m_simd;
  decltype(&baseline::softcapRows) m_softcap;
  AttentionShape m_shape;
  float* m_delta; // (B, heads, T)
  float* m_dQ;    // (B, heads, T, D), without the scale
};

} // namespace

void attentionBackward(ThreadPool& pool, const AttentionBackwardArgs& args) {
  Backward(args).run(pool);
}

} // namespace millrace::cpu

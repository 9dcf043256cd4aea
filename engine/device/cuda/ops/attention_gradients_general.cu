#include "device/cuda/ops/attention_general.cuh"
#include "device/cuda/ops/attention_kernels.h"

namespace millrace::cuda {

namespace {

template <class T>
struct GeneralBackwardInput {
  AttentionProblem problem;
  HeadRows<const T> q, k, v, dOut;
  HeadRows<T> dQ, dK, dV;
  const float* lse;  // (B, heads, T)
  const float* sums; // (B, heads, T): of dOut * out
  int tiles;         // of own rows
  int splits;        // of the columns of the gradients
};

/// Probabilities, and the gradients of the scores without the scale.
template <bool capped>
__device__ void gradientsOf(const AttentionProblem& of, float& score, float& product, float logSum, float sum,
                            bool visible) {
  const float slope = slopeOfCap<capped>(of, score, PreciseTanh());
  const float probability = visible ? exp2f(score * (of.scale * log2OfE) - logSum) : 0.0f;
  product = visible ? probability * (product - sum) * slope : 0.0f;
  score = probability;
}

/// dK and dV: a block owns keys of one key head and streams the queries that see some of them, of every query head of
/// the group in turn.
template <class T, int columns, bool capped>
__global__ void __launch_bounds__(GeneralTiles::threads, 2)
    generalKeyGradientKernel(const __grid_constant__ GeneralBackwardInput<T> input) {
  using Block = GeneralBlock<T, columns>;
  constexpr int rows = GeneralTiles::rows;
  const AttentionProblem& of = input.problem;
  const BlockOwner owner(input.tiles, of.kvHeads, input.splits);
  const Block block(of.headSize);
  const int first = owner.tile * rows, end = min(first + rows, of.keys), firstColumn = owner.split * columns;
  const GeneralRows<T> keys(input.k, owner.row, owner.head, first, end);
  const GeneralRows<T> values(input.v, owner.row, owner.head, first, end);
  float* const logSums = block.statistics();
  float* const sums = logSums + rows;
  int* const firstKeys = reinterpret_cast<int*>(sums + rows);

  float dK[4][Block::columnQuads][4] = {}, dV[4][Block::columnQuads][4] = {};
  for (int inGroup = 0; inGroup < of.group; ++inGroup) {
    const int head = owner.head * of.group + inGroup;
    for (int query = first; query < of.queries; query += rows) {
      // What a later query sees first is never earlier: no later one sees a key of this block either.
      if (of.firstKey(query, of.startOf(owner.row, query)) >= end) break;
      const GeneralRows<T> queries(input.q, owner.row, head, query, of.queries);
      const GeneralRows<T> dOut(input.dOut, owner.row, head, query, of.queries);
      float scores[4][4], products[4][4];
      block.multiplyHeads(scores, keys, queries); // its barriers part the statistics from those of the tile before
      for (int i = static_cast<int>(threadIdx.x); i < rows; i += GeneralTiles::threads) {
        const int position = min(query + i, of.queries - 1);
        const std::int64_t at = of.statistic(owner.row, head) + position;
        logSums[i] = input.lse[at] * log2OfE;
        sums[i] = input.sums[at];
        firstKeys[i] = of.firstKey(position, of.startOf(owner.row, position));
      }
      block.multiplyHeads(products, values, dOut);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = Block::across() * 4 + j;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = first + Block::down() * 4 + i;
          const bool visible = query + column < of.queries && key <= query + column && key >= firstKeys[column];
          gradientsOf<capped>(of, scores[i][j], products[i][j], logSums[column], sums[column], visible);
        }
      }
      block.addWeighted(dV, scores, dOut, firstColumn);
      block.addWeighted(dK, products, queries, firstColumn);
    }
  }
  const float one[4] = {1, 1, 1, 1}, scale[4] = {of.scale, of.scale, of.scale, of.scale};
  block.store(input.dV, owner.row, owner.head, first, end, dV, one, firstColumn);
  block.store(input.dK, owner.row, owner.head, first, end, dK, scale, firstColumn);
}

/// dQ: a block owns queries of one head and streams the keys and values that some of them see.
template <class T, int columns, bool capped>
__global__ void __launch_bounds__(GeneralTiles::threads, 2)
    generalQueryGradientKernel(const __grid_constant__ GeneralBackwardInput<T> input) {
  using Block = GeneralBlock<T, columns>;
  constexpr int rows = GeneralTiles::rows;
  const AttentionProblem& of = input.problem;
  const BlockOwner owner(input.tiles, of.heads, input.splits);
  const Block block(of.headSize);
  const int first = (input.tiles - 1 - owner.tile) * rows; // the last queries see the most keys
  const int end = min(first + rows, of.queries), kvHead = owner.head / of.group, firstColumn = owner.split * columns;
  const GeneralRows<T> queries(input.q, owner.row, owner.head, first, end);
  const GeneralRows<T> dOut(input.dOut, owner.row, owner.head, first, end);

  int position[4], firstKey[4]; // of this thread's queries; of those beyond the last, as the last
  float logSum[4], sum[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    position[i] = min(first + Block::down() * 4 + i, end - 1);
    firstKey[i] = of.firstKey(position[i], of.startOf(owner.row, position[i]));
    const std::int64_t at = of.statistic(owner.row, owner.head) + position[i];
    logSum[i] = input.lse[at] * log2OfE;
    sum[i] = input.sums[at];
  }

  float dQ[4][Block::columnQuads][4] = {};
  for (int key = of.firstKey(first, of.startOf(owner.row, first)); key < end; key += rows) {
    const GeneralRows<T> keys(input.k, owner.row, kvHead, key, of.keys);
    float scores[4][4], products[4][4];
    block.multiplyHeads(scores, queries, keys);
    block.multiplyHeads(products, dOut, GeneralRows<T>(input.v, owner.row, kvHead, key, of.keys));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = key + Block::across() * 4 + j;
        gradientsOf<capped>(of, scores[i][j], products[i][j], logSum[i], sum[i],
                            column <= position[i] && column >= firstKey[i]);
      }
    }
    block.addWeighted(dQ, products, keys, firstColumn);
  }
  const float scale[4] = {of.scale, of.scale, of.scale, of.scale};
  block.store(input.dQ, owner.row, owner.head, first, end, dQ, scale, firstColumn);
}

} // namespace

void attentionGradientsGeneral(cudaStream_t stream, const AttentionBackwardArgs& args) {
  const AttentionProblem problem(args);
  dispatchActivation(args.q.dtype, [&](auto element) {
    using T = decltype(element);
    withGeneralColumns(args.q.shape[3], [&](auto columns) {
      constexpr int width = columns.value;
      const GeneralBackwardInput<T> input{.problem = problem,
                                          .q = HeadRows<const T>(args.q),
                                          .k = HeadRows<const T>(args.k),
                                          .v = HeadRows<const T>(args.v),
                                          .dOut = HeadRows<const T>(args.dOut),
                                          .dQ = HeadRows<T>(args.dQ),
                                          .dK = HeadRows<T>(args.dK),
                                          .dV = HeadRows<T>(args.dV),
                                          .lse = args.lse.as<float>(),
                                          .sums = args.scratch.as<float>(),
                                          .tiles = (problem.keys + GeneralTiles::rows - 1) / GeneralTiles::rows,
                                          .splits = (problem.headSize + width - 1) / width};
      const std::int64_t parts = static_cast<std::int64_t>(problem.batch) * input.tiles * input.splits;
      constexpr int sharedBytes = GeneralTiles::sharedBytes(width);
      const bool capped = args.softcap > 0;
      launch(stream, capped ? generalKeyGradientKernel<T, width, true> : generalKeyGradientKernel<T, width, false>,
             parts * problem.kvHeads, GeneralTiles::threads, sharedBytes, input, "the attention kernel");
      launch(stream, capped ? generalQueryGradientKernel<T, width, true> : generalQueryGradientKernel<T, width, false>,
             parts * problem.heads, GeneralTiles::threads, sharedBytes, input, "the attention kernel");
    });
  });
}

} // namespace millrace::cuda

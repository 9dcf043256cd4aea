#include "device/cuda/ops/attention_general.cuh"
#include "device/cuda/ops/attention_kernels.h"

namespace millrace::cuda {

namespace {

template <class T>
struct GeneralForwardInput {
  AttentionProblem problem;
  HeadRows<const T> q, k, v;
  HeadRows<T> out;
  float* lse; // (B, heads, Tq)
  int tiles;  // of queries
  int splits; // of the columns of out
};

/// A row of scores is shared by 16 neighbouring lanes.
template <class Combine>
__device__ float overRow(float value, Combine&& combine) {
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

template <class T, int columns, bool capped>
__global__ void __launch_bounds__(GeneralTiles::threads, 2)
    generalForwardKernel(const __grid_constant__ GeneralForwardInput<T> input) {
  using Block = GeneralBlock<T, columns>;
  const AttentionProblem& of = input.problem;
  const BlockOwner owner(input.tiles, of.heads, input.splits);
  const Block block(of.headSize);
  const int first = (input.tiles - 1 - owner.tile) * GeneralTiles::rows; // the last queries see the most keys
  const int end = min(first + GeneralTiles::rows, of.queries);
  const int kvHead = owner.head / of.group, firstColumn = owner.split * columns;
  const GeneralRows<T> queries(input.q, owner.row, owner.head, first, end);

  int position[4], firstKey[4]; // of this thread's queries; of those beyond the last, as the last
  float largest[4], sum[4];
  float out[4][Block::columnQuads][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    position[i] = of.firstPosition() + min(first + Block::down() * 4 + i, end - 1);
    firstKey[i] = of.firstKey(position[i], of.startOf(owner.row, position[i]));
    largest[i] = -INFINITY;
    sum[i] = 0;
  }

  const int firstPosition = of.firstPosition() + first, keyEnd = of.firstPosition() + end;
  for (int key = of.firstKey(firstPosition, of.startOf(owner.row, firstPosition)); key < keyEnd;
       key += GeneralTiles::rows) {
    float scores[4][4];
    block.multiplyHeads(scores, queries, GeneralRows<T>(input.k, owner.row, kvHead, key, of.keys));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float tileLargest = largest[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int column = key + Block::across() * 4 + j;
        const bool visible = column <= position[i] && column >= firstKey[i];
        slopeOfCap<capped>(of, scores[i][j], PreciseTanh());
        scores[i][j] = visible ? scores[i][j] * (of.scale * log2OfE) : -INFINITY;
        tileLargest = fmaxf(tileLargest, scores[i][j]);
      }
      tileLargest = overRow(tileLargest, [](float a, float b) { return fmaxf(a, b); });
      // A row that has seen no key yet: any finite number keeps -infinity minus it what it is.
      const float subtract = tileLargest == -INFINITY ? 0.0f : tileLargest;
      const float shrink = exp2f(largest[i] - subtract);
      largest[i] = tileLargest;
      float tileSum = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[i][j] = exp2f(scores[i][j] - subtract);
        tileSum += scores[i][j];
      }
      sum[i] = sum[i] * shrink + overRow(tileSum, [](float a, float b) { return a + b; });
#pragma unroll
      for (int c = 0; c < Block::columnQuads; ++c) {
#pragma unroll
        for (int j = 0; j < 4; ++j) out[i][c][j] *= shrink;
      }
    }
    block.addWeighted(out, scores, GeneralRows<T>(input.v, owner.row, kvHead, key, of.keys), firstColumn);
  }

  float factors[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    factors[i] = 1.0f / sum[i];
    const int query = first + Block::down() * 4 + i;
    if (query < end && Block::across() == 0 && owner.split == 0) {
      constexpr float logOf2 = 0.693147180559945309f;
      input.lse[of.statistic(owner.row, owner.head) + query] = (largest[i] + log2f(sum[i])) * logOf2;
    }
  }
  block.store(input.out, owner.row, owner.head, first, end, out, factors, firstColumn);
}

} // namespace

void attentionForwardGeneral(cudaStream_t stream, const AttentionArgs& args) {
  const AttentionProblem problem(args);
  dispatchActivation(args.q.dtype, [&](auto element) {
    using T = decltype(element);
    withGeneralColumns(args.q.shape[3], [&](auto columns) {
      constexpr int width = columns.value;
      const GeneralForwardInput<T> input{.problem = problem,
                                         .q = HeadRows<const T>(args.q),
                                         .k = HeadRows<const T>(args.k),
                                         .v = HeadRows<const T>(args.v),
                                         .out = HeadRows<T>(args.out),
                                         .lse = args.lse.as<float>(),
                                         .tiles = (problem.queries + GeneralTiles::rows - 1) / GeneralTiles::rows,
                                         .splits = (problem.headSize + width - 1) / width};
      launch(stream, args.softcap > 0 ? generalForwardKernel<T, width, true> : generalForwardKernel<T, width, false>,
             static_cast<std::int64_t>(problem.batch) * problem.heads * input.tiles * input.splits,
             GeneralTiles::threads, GeneralTiles::sharedBytes(width), input, "the attention kernel");
    });
  });
}

} // namespace millrace::cuda

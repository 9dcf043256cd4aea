// What every attention kernel is given: the sizes, who sees whom, and heads as strided rows.
#pragma once

#include "device/kernels.h"

#include <cstdint>

namespace millrace::cuda {

constexpr float log2OfE = 1.44269504088896341f;

/// A (B, T, heads, D) view; strides in elements.
template <class T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t rowStride = 0, headStride = 0, batchStride = 0;

  HeadRows() = default;
  explicit HeadRows(const TensorView& view)
      : data(static_cast<T*>(view.data)),
        rowStride(view.strides[1]),
        headStride(view.strides[2]),
        batchStride(view.strides[0]) {}

  /// Row `row` of a head; the next is rowStride further.
  __device__ T* at(int batch, int head, int row) const {
    return data + batch * batchStride + head * headStride + row * rowStride;
  }
};

struct AttentionProblem {
  int batch, queries, keys;  // B, Tq, Tk
  int heads, kvHeads, group; // group: query heads that share a key head
  int headSize;
  int window; // 0: no limit
  float scale;
  float cap, inverseCap;             // of scores without the scale; 0: none
  const std::int32_t* documentStart; // (B, Tk), or absent
  std::int64_t documentStride;

  template <class Args>
  explicit AttentionProblem(const Args& args)
      : batch(static_cast<int>(args.q.shape[0])),
        queries(static_cast<int>(args.q.shape[1])),
        keys(static_cast<int>(args.k.shape[1])),
        heads(static_cast<int>(args.q.shape[2])),
        kvHeads(static_cast<int>(args.k.shape[2])),
        group(heads / kvHeads),
        headSize(static_cast<int>(args.q.shape[3])),
        window(args.window < args.k.shape[1] ? static_cast<int>(args.window) : 0),
        scale(args.scale),
        cap(args.softcap > 0 ? args.softcap / args.scale : 0.0f),
        inverseCap(args.softcap > 0 ? args.scale / args.softcap : 0.0f),
        documentStart(args.documentStart.valid() ? args.documentStart.template as<std::int32_t>() : nullptr),
        documentStride(args.documentStart.strides[0]) {}

  /// Where the document of a position begins.
  __device__ int startOf(int row, int position) const {
    return documentStart ? documentStart[row * documentStride + position] : 0;
  }

  /// The first key that the query at a position sees; the last is its own. Never decreases with the position.
  __device__ int firstKey(int position, int start) const {
    const int first = window > 0 ? position - window + 1 : 0;
    return min(max(max(first, start), 0), position);
  }

  /// Position of query 0.
  __device__ int firstPosition() const { return keys - queries; }
  /// Element of a (B, heads, Tq) tensor of query 0.
  __device__ std::int64_t statistic(int row, int head) const {
    return (static_cast<std::int64_t>(row) * heads + head) * queries;
  }
};

/// With a cap: the score, still without the scale, is kept within it; what is returned is its slope there. Else the
/// score itself and 1.
template <bool capped, class Tanh>
__device__ float slopeOfCap(const AttentionProblem& of, float& score, Tanh&& tanhOf) {
  if constexpr (!capped) return 1.0f;
  const float tanh = tanhOf(score * of.inverseCap);
  score = of.cap * tanh;
  return 1.0f - tanh * tanh;
}

/// Which rows of which head a block owns. Blocks of one sequence follow each other, so that what they read is in the
/// L2 cache; among those, tiles in the order given, all heads of one before the next.
struct BlockOwner {
  int row, tile, head, split;

  __device__ BlockOwner(int tiles, int heads, int splits) {
    int index = static_cast<int>(blockIdx.x);
    split = index % splits;
    index /= splits;
    head = index % heads;
    index /= heads;
    tile = index % tiles;
    row = index / tiles;
  }
};

} // namespace millrace::cuda

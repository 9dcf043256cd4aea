#include "device/cuda/ops/embedding.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

namespace {

template <int N, class T>
__global__ void forwardKernel(const T* table, Rows tableRows, const std::int32_t* ids, float scale,
                              const T* positionTable, Rows positionRows, const std::int32_t* positionIds, T* x,
                              Rows to) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= to.count || column >= to.columns) return;
  float values[N];
  load(table + tableRows.offset(ids[row]) + column, values);
#pragma unroll
  for (float& value : values) value *= scale;
  if (positionTable) {
    float position[N];
    load(positionTable + positionRows.offset(positionIds[row]) + column, position);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] += position[i];
  }
  store(x + to.offset(row) + column, values);
}

template <int N, class T>
__global__ void backwardKernel(const T* dX, Rows from, const std::int32_t* order, const std::int32_t* starts,
                               float scale, float* dTable, Rows to) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= to.count || column >= to.columns) return;
  float sums[N] = {};
  const int end = starts[row + 1];
  for (int i = starts[row]; i < end; ++i) {
    float values[N];
    load(dX + from.offset(order[i]) + column, values);
#pragma unroll
    for (int j = 0; j < N; ++j) sums[j] += values[j];
  }
  float* target = dTable + to.offset(row) + column;
#pragma unroll
  for (int j = 0; j < N; ++j) target[j] = sums[j] * scale;
}

__device__ std::int64_t placeIn(const std::int32_t* index, std::int64_t count, std::int64_t value) {
  std::int64_t first = 0;
  while (count > 1) {
    const std::int64_t half = count / 2;
    if (index[first + half] <= value) first += half;
    count -= half;
  }
  return first;
}

template <int N>
__global__ void addRowsKernel(const float* source, Rows from, const std::int32_t* rows, const std::int32_t* index,
                              float* target, Rows to) {
  const std::int64_t row = gridRow(), column = gridPack() * N;
  if (row >= from.count || column >= from.columns) return;
  const std::int64_t named = rows ? rows[row] : row;
  const std::int64_t place = index ? placeIn(index, to.count, named) : named;
  float* sum = target + to.offset(place) + column;
  float values[N], sums[N];
  load(source + from.offset(row) + column, values);
  load(sum, sums);
#pragma unroll
  for (int i = 0; i < N; ++i) sums[i] += values[i];
  store(sum, sums);
}

} // namespace

void embedding(cudaStream_t stream, const EmbeddingArgs& args) {
  const Rows table(args.table), to(args.x);
  if (to.count * to.columns == 0) return;
  const bool positions = args.positionTable.valid();
  const Rows positionRows = positions ? Rows(args.positionTable) : Rows();
  dispatchPacks(args.x.dtype, to.columns, {&args.table, &args.x, &args.positionTable}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(to.count, to.columns / N);
    forwardKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(
        dataOf<const T>(args.table), table, dataOf<const std::int32_t>(args.ids), args.scale,
        positions ? dataOf<const T>(args.positionTable) : nullptr, positionRows,
        positions ? dataOf<const std::int32_t>(args.positionIds) : nullptr, dataOf<T>(args.x), to);
  });
  checkLaunch("the embedding kernel");
}

void embeddingBackward(cudaStream_t stream, const EmbeddingBackwardArgs& args) {
  const Rows from(args.dX), to(args.dTable);
  if (to.count * to.columns == 0) return;
  dispatchPacks(args.dX.dtype, to.columns, {&args.dX}, [&](auto element, auto n) {
    using T = decltype(element);
    constexpr int N = decltype(n)::value;
    const RowGrid grid(to.count, to.columns / N);
    backwardKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(
        dataOf<const T>(args.dX), from, dataOf<const std::int32_t>(args.order), dataOf<const std::int32_t>(args.starts),
        args.scale, dataOf<float>(args.dTable), to);
  });
  checkLaunch("the embeddingBackward kernel");
}

void addRows(cudaStream_t stream, const AddRowsArgs& args) {
  const Rows from(args.source), to(args.target);
  if (from.count * from.columns == 0) return;
  dispatchPacks(DType::F32, from.columns, {&args.source, &args.target}, [&](auto element, auto n) {
    if constexpr (std::is_same_v<decltype(element), float>) {
      constexpr int N = decltype(n)::value;
      const RowGrid grid(from.count, from.columns / N);
      addRowsKernel<N><<<grid.blocks, grid.threads, 0, stream>>>(
          dataOf<const float>(args.source), from, args.rows.valid() ? dataOf<const std::int32_t>(args.rows) : nullptr,
          args.index.valid() ? dataOf<const std::int32_t>(args.index) : nullptr, dataOf<float>(args.target), to);
    }
  });
  checkLaunch("the addRows kernel");
}

} // namespace millrace::cuda

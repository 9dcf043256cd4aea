// Grouped products in plain arithmetic, for fp32 and for sizes and addresses that the matrix units do not take: 16 x 16
// threads, 4 x 4 results each.
#pragma once

#include "device/cuda/ops/device_math.cuh"
#include "device/cuda/ops/grouped_problem.cuh"

namespace millrace::cuda {

struct GeneralGroupedTiles {
  static constexpr int rows = 64, columns = 64, depth = 16, threads = 256;
};

/// An operand: element (i, d) of the tile's rows (or columns) and the depth.
template <class T>
struct GroupedOperand {
  const T* data;
  std::int64_t across, along; // from one i to the next, from one d to the next
  int present;                // of i

  __device__ float at(int i, int d, int depth) const {
    return i < present && d < depth ? toFloat(data[i * across + d * along]) : 0.0f;
  }
};

template <GroupedProduct product, class T>
__global__ void __launch_bounds__(GeneralGroupedTiles::threads)
    groupedGeneralKernel(const __grid_constant__ GroupedInput<T> of) {
  using the = GeneralGroupedTiles;
  constexpr bool gradient = product == GroupedProduct::Gradient;
  __shared__ float leftTile[the::depth][the::rows + 4], rightTile[the::depth][the::columns + 4];
  const GroupedTile tile = GroupedTile::find<product, the::rows, the::columns>(of);
  if (tile.rows == 0) return;
  const std::int64_t matrix = static_cast<std::int64_t>(tile.group) * of.n * of.k;
  const int begin = of.begins[tile.group];
  const int columns = product == GroupedProduct::Transposed ? of.n : of.k;
  int depth = 0;
  GroupedOperand<T> left, right;
  if constexpr (gradient) {
    depth = of.begins[tile.group + 1] - begin;
    left = {of.left + begin * of.leftStride + tile.row, 1, of.leftStride, tile.rows};
    right = {of.right + begin * of.rightStride + tile.column, 1, of.rightStride, columns - tile.column};
  } else {
    depth = product == GroupedProduct::Transposed ? of.k : of.n;
    left = {of.left + tile.row * of.leftStride, of.leftStride, 1, tile.rows};
    if constexpr (product == GroupedProduct::Transposed)
      right = {of.right + matrix + tile.column * of.rightStride, of.rightStride, 1, columns - tile.column};
    else
      right = {of.right + matrix + tile.column, 1, of.rightStride, columns - tile.column};
  }

  const int thread = static_cast<int>(threadIdx.x), down = thread / 16 * 4, across = thread % 16 * 4;
  // Neighbouring threads load neighbouring elements.
  const auto load = [&](float(&to)[the::depth][the::rows + 4], const GroupedOperand<T>& from, int first) {
    for (int e = thread; e < the::depth * the::rows; e += the::threads) {
      const int i = from.along == 1 ? e / the::depth : e % the::rows;
      const int d = from.along == 1 ? e % the::depth : e / the::rows;
      to[d][i] = from.at(i, first + d, depth);
    }
  };
  static_assert(the::rows == the::columns);
  float sums[4][4] = {};
  for (int first = 0; first < depth; first += the::depth) {
    __syncthreads(); // everyone is done with the tiles before
    load(leftTile, left, first);
    load(rightTile, right, first);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < the::depth; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(leftTile[d][down + i], rightTile[d][across + j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (down + i >= tile.rows) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = tile.column + across + j;
      if (column >= columns) continue;
      if constexpr (gradient)
        of.gradient[matrix + static_cast<std::int64_t>(tile.row + down + i) * of.k + column] += sums[i][j];
      else
        of.out[(tile.row + down + i) * of.outStride + column] = fromFloat<T>(sums[i][j]);
    }
  }
}

} // namespace millrace::cuda

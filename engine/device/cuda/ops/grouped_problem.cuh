// What the kernels of grouped products are given, and how a block finds its part.
#pragma once

#include "device/kernels.h"

#include <cstdint>

namespace millrace::cuda {

/// What is multiplied with what; the left side has the rows of the result.
enum class GroupedProduct {
  Transposed, ///< rows (R, K) with W_g (N, K): results (R, N)
  Plain,      ///< rows (R, N) with W_g (N, K): results (R, K)
  Gradient,   ///< the group's rows (r, N), transposed, with its (r, K): added to dW_g (N, K)
};

template <class T>
struct GroupedInput {
  const T *left, *right;
  T* out;                                          // Transposed, Plain
  float* gradient;                                 // Gradient: (G, N, K)
  std::int64_t leftStride, rightStride, outStride; // of rows
  const std::int32_t* begins;                      // (G + 1)
  int groups, n, k;
  int rowTiles, columnTiles; // of results: of a group for Gradient, else of all groups at most
};

/// Sizes, addresses and strides of the arguments.
template <class T>
GroupedInput<T> groupedInput(const GroupedMatmulArgs& args) {
  GroupedInput<T> input{};
  input.left = static_cast<const T*>(args.a.data);
  input.right = static_cast<const T*>(args.b.data);
  input.out = static_cast<T*>(args.c.data);
  input.leftStride = args.a.strides[0];
  input.rightStride = args.b.strides[1];
  input.outStride = args.c.strides[0];
  input.begins = args.begins.as<std::int32_t>();
  input.groups = static_cast<int>(args.b.shape[0]);
  input.n = static_cast<int>(args.b.shape[1]);
  input.k = static_cast<int>(args.b.shape[2]);
  return input;
}

template <class T>
GroupedInput<T> groupedInput(const GroupedWeightGradientArgs& args) {
  GroupedInput<T> input{};
  input.left = static_cast<const T*>(args.dY.data);
  input.right = static_cast<const T*>(args.x.data);
  input.gradient = args.dW.as<float>();
  input.leftStride = args.dY.strides[0];
  input.rightStride = args.x.strides[0];
  input.begins = args.begins.as<std::int32_t>();
  input.groups = static_cast<int>(args.dW.shape[0]);
  input.n = static_cast<int>(args.dW.shape[1]);
  input.k = static_cast<int>(args.dW.shape[2]);
  return input;
}

/// The part of the results that a block makes: rows [row, row + rows) and columns from `column` on. Rows are those of
/// all groups, or for Gradient those of dW_g. No rows: nothing to do.
struct GroupedTile {
  int group = 0, row = 0, rows = 0, column = 0;

  template <GroupedProduct product, int tileRows, int tileColumns, class T>
  static __device__ GroupedTile find(const GroupedInput<T>& of) {
    int index = static_cast<int>(blockIdx.x);
    GroupedTile tile;
    tile.column = index % of.columnTiles * tileColumns;
    index /= of.columnTiles;
    if constexpr (product == GroupedProduct::Gradient) {
      tile.row = index % of.rowTiles * tileRows;
      tile.group = index / of.rowTiles;
      tile.rows = of.begins[tile.group + 1] > of.begins[tile.group] ? min(tileRows, of.n - tile.row) : 0;
    } else {
      for (; tile.group < of.groups; ++tile.group) {
        const int begin = of.begins[tile.group], count = of.begins[tile.group + 1] - begin;
        const int tiles = (count + tileRows - 1) / tileRows;
        if (index < tiles) {
          tile.row = begin + index * tileRows;
          tile.rows = min(tileRows, count - index * tileRows);
          break;
        }
        index -= tiles;
      }
    }
    return tile;
  }
};

} // namespace millrace::cuda

// How threads share a row that they sum over: few for short rows (heads), a block for long ones.
#pragma once

#include "device/cuda/ops/packs.cuh"

namespace millrace::cuda {

/// Threads of a row, chosen by the row's length alone: the order of the sums follows from it.
inline int rowThreads(std::int64_t packs) {
  return packs <= 64 ? 32 : packs <= 512 ? 128 : 512;
}

/// blockDim (threads of a row, rows of the block). Rows of a warp sum by shuffles, longer ones through shared memory.
template <int Threads>
struct RowShare {
  static constexpr int rowsOfBlock = Threads == 32 ? 4 : 1;

  static __device__ std::int64_t row() { return static_cast<std::int64_t>(blockIdx.x) * rowsOfBlock + threadIdx.y; }

  static __device__ float sum(float value) {
    if constexpr (Threads == 32) {
      return warpSum(value);
    } else {
      __shared__ float scratch[32];
      return blockSum(value, scratch);
    }
  }
};

/// Calls function(std::integral_constant<int, Threads>, blocks, threads).
template <class Function>
void dispatchRows(std::int64_t rows, std::int64_t packs, Function&& function) {
  const auto run = [&](auto threads) {
    constexpr int Threads = decltype(threads)::value;
    constexpr int rowsOfBlock = RowShare<Threads>::rowsOfBlock;
    function(threads, dim3(static_cast<unsigned>((rows + rowsOfBlock - 1) / rowsOfBlock)), dim3(Threads, rowsOfBlock));
  };
  switch (rowThreads(packs)) {
  case 32:
    return run(std::integral_constant<int, 32>{});
  case 128:
    return run(std::integral_constant<int, 128>{});
  default:
    return run(std::integral_constant<int, 512>{});
  }
}

} // namespace millrace::cuda

// Grouped products on the matrix units: a block of four warps makes 128 x 64 results. Tiles of 64 numbers a row pass
// through shared memory, the next ones while the present ones are multiplied.
#pragma once

#include "device/cuda/ops/attention_tile.cuh"
#include "device/cuda/ops/grouped_problem.cuh"
#include "device/cuda/ops/kernel_launch.cuh"

namespace millrace::cuda {

struct GroupedTiles {
  static constexpr int rows = 128, columns = 64, depth = 64; // of results, and of what is multiplied at once
  static constexpr int threads = 128;
  static constexpr int leftBytes = rows * depth * 2, rightBytes = columns * depth * 2;
  static constexpr int stageBytes = leftBytes + rightBytes;
  static constexpr int sharedBytes = 2 * stageBytes;
};

template <GroupedProduct product>
class GroupedBlock {
  using the = GroupedTiles;
  using Tile = SharedTile<64>;
  using Input = GroupedInput<__nv_bfloat16>;
  static constexpr bool gradient = product == GroupedProduct::Gradient;
  static constexpr int columnTiles = the::columns / 8;

 public:
  __device__ explicit GroupedBlock(const Input& input)
      : m_in(input),
        m_tile(GroupedTile::find<product, the::rows, the::columns>(input)),
        m_lane(static_cast<int>(threadIdx.x) % 32),
        m_warp(static_cast<int>(threadIdx.x) / 32),
        m_reader(m_lane) {}

  __device__ void run() {
    if (m_tile.rows == 0) return;
    const std::uint32_t shared = sharedAddress(sharedMemory());
    const int depth = depthOf();
    float sums[2][columnTiles][4] = {};
    copy(shared, 0);
    endCopyGroup();
    for (int begin = 0, step = 0; begin < depth; begin += the::depth, ++step) {
      if (begin + the::depth < depth)
        copy(shared + static_cast<std::uint32_t>((step + 1) % 2 * the::stageBytes), begin + the::depth);
      endCopyGroup();
      waitForCopies<1>();
      __syncthreads(); // this step's tiles are there
      multiplyTiles(sums, shared + static_cast<std::uint32_t>(step % 2 * the::stageBytes));
      __syncthreads(); // and everyone is done with them
    }
    store(sums);
  }

 private:
  __device__ int depthOf() const {
    if constexpr (gradient)
      return m_in.begins[m_tile.group + 1] - m_in.begins[m_tile.group];
    else
      return product == GroupedProduct::Transposed ? m_in.k : m_in.n;
  }
  __device__ int columnsOf() const { return product == GroupedProduct::Transposed ? m_in.n : m_in.k; }

  /// Rows of 64 numbers, zeros beyond what is present.
  template <int rows>
  static __device__ void copyTile(std::uint32_t to, const __nv_bfloat16* from, std::int64_t stride, int presentRows,
                                  int presentColumns) {
    for (int i = static_cast<int>(threadIdx.x); i < rows * 8; i += the::threads) {
      const int row = i / 8, piece = i % 8;
      copyAsync16(to + Tile::offset(row, piece), from + row * stride + piece * 8,
                  row < presentRows && piece * 8 < presentColumns);
    }
  }

  /// What is multiplied from `begin` of the depth on.
  __device__ void copy(std::uint32_t stage, int begin) const {
    const int depth = depthOf() - begin, columns = columnsOf() - m_tile.column;
    const std::uint32_t right = stage + the::leftBytes;
    if constexpr (gradient) {
      // Rows of tokens: the left side as two tiles of 64 columns.
      const std::int64_t first = m_in.begins[m_tile.group] + begin;
      const __nv_bfloat16* left = m_in.left + first * m_in.leftStride + m_tile.row;
      copyTile<64>(stage, left, m_in.leftStride, depth, m_tile.rows);
      copyTile<64>(stage + the::leftBytes / 2, left + 64, m_in.leftStride, depth, m_tile.rows - 64);
      copyTile<64>(right, m_in.right + first * m_in.rightStride + m_tile.column, m_in.rightStride, depth, columns);
    } else {
      copyTile<the::rows>(stage, m_in.left + m_tile.row * m_in.leftStride + begin, m_in.leftStride, m_tile.rows, depth);
      const __nv_bfloat16* matrix = m_in.right + static_cast<std::int64_t>(m_tile.group) * m_in.n * m_in.k;
      if constexpr (product == GroupedProduct::Transposed)
        copyTile<64>(right, matrix + m_tile.column * m_in.rightStride + begin, m_in.rightStride, columns, depth);
      else
        copyTile<64>(right, matrix + begin * m_in.rightStride + m_tile.column, m_in.rightStride, depth, columns);
    }
  }

  __device__ void multiplyTiles(float (&sums)[2][columnTiles][4], std::uint32_t stage) {
    const std::uint32_t right = stage + the::leftBytes;
#pragma unroll
    for (int k = 0; k < the::depth / 16; ++k) {
      m_reader.forget();
      std::uint32_t a[2][4];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if constexpr (gradient)
          m_reader.leftTransposed(a[r], stage + static_cast<std::uint32_t>(m_warp / 2 * (the::leftBytes / 2)), k * 16,
                                  m_warp % 2 * 4 + r * 2);
        else
          m_reader.left(a[r], stage, m_warp * 32 + r * 16, 2 * k);
      }
#pragma unroll
      for (int n = 0; n < columnTiles; n += 2) {
        std::uint32_t b[4];
        if constexpr (product == GroupedProduct::Transposed)
          m_reader.rightTransposed(b, right, n * 8, 2 * k);
        else
          m_reader.right(b, right, k * 16, n);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          multiply(sums[r][n], a[r], b[0], b[1]);
          multiply(sums[r][n + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  __device__ void store(const float (&sums)[2][columnTiles][4]) const {
    const int columns = columnsOf();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = m_warp * 32 + r * 16 + half * 8 + m_lane / 4;
        if (row >= m_tile.rows) continue;
#pragma unroll
        for (int n = 0; n < columnTiles; ++n) {
          const int column = m_tile.column + n * 8 + m_lane % 4 * 2; // columns come in eights: both or neither
          if (column >= columns) continue;
          const float first = sums[r][n][2 * half], second = sums[r][n][2 * half + 1];
          if constexpr (gradient) {
            const std::int64_t at = (static_cast<std::int64_t>(m_tile.group) * m_in.n + m_tile.row + row) * m_in.k;
            float* to = m_in.gradient + at + column;
            to[0] += first;
            to[1] += second;
          } else {
            __nv_bfloat16* to = m_in.out + (m_tile.row + row) * m_in.outStride + column;
            *reinterpret_cast<std::uint32_t*>(to) = packBf16(first, second);
          }
        }
      }
    }
  }

  const Input& m_in;
  GroupedTile m_tile;
  int m_lane, m_warp;
  TileReader<64> m_reader;
};

template <GroupedProduct product>
__global__ void __launch_bounds__(GroupedTiles::threads)
    groupedBf16Kernel(const __grid_constant__ GroupedInput<__nv_bfloat16> input) {
  GroupedBlock<product>(input).run();
}

} // namespace millrace::cuda

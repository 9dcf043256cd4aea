// Attention in plain fp32 arithmetic, for any head size, stride and dtype: the exact path of fp32, and of what the
// matrix units do not take. A block of 16 x 16 threads owns 64 rows and streams the rows of the other side past them,
// 64 at a time; a thread has scores of 4 own rows with 4 streamed rows. Operands pass through shared memory in slices,
// so that heads of any size fit.
#pragma once

#include "device/cuda/ops/attention_problem.cuh"
#include "device/cuda/ops/attention_tiles.h"
#include "device/cuda/ops/device_math.cuh"
#include "device/cuda/ops/kernel_launch.cuh"
#include "device/cuda/ops/matrix_units.cuh"

#include <cmath>
#include <type_traits>

namespace millrace::cuda {

/// Rows of one head, from some row on.
template <class T>
struct GeneralRows {
  const T* data;
  std::int64_t stride;
  int present; // rows from here on are zeros

  __device__ GeneralRows(const HeadRows<const T>& rows, int row, int head, int first, int end)
      : data(rows.at(row, head, first)), stride(rows.rowStride), present(end - first) {}
};

/// Four numbers of a row of shared memory, at a multiple of 4.
struct Quad {
  float values[4];

  __device__ explicit Quad(const float* from) {
    const float4 loaded = *reinterpret_cast<const float4*>(from);
    values[0] = loaded.x;
    values[1] = loaded.y;
    values[2] = loaded.z;
    values[3] = loaded.w;
  }
  __device__ float operator[](int i) const { return values[i]; }
};

/// columns: of results that the block makes.
template <class T, int columns>
class GeneralBlock {
  static constexpr int rows = GeneralTiles::rows, slice = GeneralTiles::slice, stride = GeneralTiles::stride;
  static constexpr int threads = GeneralTiles::threads, sliceFloats = GeneralTiles::sliceFloats(columns);

 public:
  static constexpr int columnQuads = columns / 64; // of a thread: columns across() * 4 + 64 * i and the next three

  __device__ explicit GeneralBlock(int headSize) : m_headSize(headSize) {
    m_slices = reinterpret_cast<float*>(sharedMemory());
    m_weights = m_slices + sliceFloats;
  }

  __device__ static int down() { return static_cast<int>(threadIdx.x) / 16; }   // own rows down() * 4 and the next
  __device__ static int across() { return static_cast<int>(threadIdx.x) % 16; } // streamed rows across() * 4, likewise
  /// Three numbers for each streamed row.
  __device__ float* statistics() const { return m_weights + rows * stride; }

  /// products[i][j] = own row i . streamed row j, both 64 rows.
  __device__ void multiplyHeads(float (&products)[4][4], const GeneralRows<T>& own,
                                const GeneralRows<T>& streamed) const {
    float* const left = m_slices;
    float* const right = m_slices + slice * stride;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) products[i][j] = 0;
    }
    for (int first = 0; first < m_headSize; first += slice) {
      __syncthreads(); // everyone is done with what the slices held
      loadTransposed(left, own, first);
      loadTransposed(right, streamed, first);
      __syncthreads();
#pragma unroll 8
      for (int d = 0; d < slice; ++d) {
        const Quad a(left + d * stride + down() * 4), b(right + d * stride + across() * 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) products[i][j] = fmaf(a[i], b[j], products[i][j]);
        }
      }
    }
  }

  /// sums += weights * streamed rows, columns from firstColumn on; weights[i][j] as products of multiplyHeads().
  __device__ void addWeighted(float (&sums)[4][columnQuads][4], const float (&weights)[4][4],
                              const GeneralRows<T>& streamed, int firstColumn) const {
    __syncthreads(); // everyone is done with the weights before
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      *reinterpret_cast<float4*>(m_weights + (across() * 4 + j) * stride + down() * 4) =
          make_float4(weights[0][j], weights[1][j], weights[2][j], weights[3][j]);
    }
    for (int first = 0; first < rows; first += slice) {
      __syncthreads(); // the weights are there, and everyone is done with what the slices held
      load(m_slices, streamed, first, firstColumn);
      __syncthreads();
#pragma unroll 4
      for (int s = 0; s < slice; ++s) {
        const Quad a(m_weights + (first + s) * stride + down() * 4);
#pragma unroll
        for (int c = 0; c < columnQuads; ++c) {
          const Quad b(m_slices + s * columns + c * 64 + across() * 4);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) sums[i][c][j] = fmaf(a[i], b[j], sums[i][c][j]);
          }
        }
      }
    }
  }

  /// Own rows [first, end) of a head, columns from firstColumn on, times factor of each row.
  __device__ void store(const HeadRows<T>& to, int row, int head, int first, int end,
                        const float (&sums)[4][columnQuads][4], const float (&factors)[4], int firstColumn) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = first + down() * 4 + i;
      if (at >= end) continue;
      T* const target = to.at(row, head, at);
#pragma unroll
      for (int c = 0; c < columnQuads; ++c) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int column = firstColumn + c * 64 + across() * 4 + j;
          if (column < m_headSize) target[column] = fromFloat<T>(sums[i][c][j] * factors[i]);
        }
      }
    }
  }

 private:
  /// Elements [first, first + slice) of 64 rows, an element's rows side by side. A warp takes 8 elements of 4 rows at a
  /// time: whole sectors of global memory, and 32 banks of shared memory.
  __device__ void loadTransposed(float* to, const GeneralRows<T>& from, int first) const {
    constexpr int step = threads / slice; // rows
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int element = warp % (slice / 8) * 8 + lane % 8, row = warp / (slice / 8) * 4 + lane / 8;
    loadColumn<rows / step>(to + element * stride + row, step, from, row, step, first + element);
  }
  /// Columns [firstColumn, firstColumn + columns) of rows [first, first + slice).
  __device__ void load(float* to, const GeneralRows<T>& from, int first, int firstColumn) const {
    constexpr int step = threads / columns; // rows
    const int row = static_cast<int>(threadIdx.x) / columns, column = static_cast<int>(threadIdx.x) % columns;
    loadColumn<slice / step>(to + threadIdx.x, threads, from, first + row, step, firstColumn + column);
  }
  /// `count` elements of one column, every step-th row from a row on, to places toStep apart.
  template <int count>
  __device__ void loadColumn(float* to, int toStep, const GeneralRows<T>& from, int row, int step, int column) const {
    const int present = column < m_headSize ? from.present - row : 0;
    const T* at = from.data + row * from.stride + column;
#pragma unroll 8
    for (int i = 0; i < count; ++i) {
      to[i * toStep] = i * step < present ? toFloat(*at) : 0.0f;
      at += step * from.stride;
      hide(at); // or the addresses of all rows would be kept
    }
  }

  int m_headSize;
  float* m_slices;
  float* m_weights; // (streamed rows, own rows)
};

struct PreciseTanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};

/// Calls function(columns) with std::integral_constant of GeneralTiles::columns().
template <class Function>
void withGeneralColumns(std::int64_t headSize, Function&& function) {
  if (GeneralTiles::columns(headSize) == 64)
    function(std::integral_constant<int, 64>{});
  else
    function(std::integral_constant<int, 128>{});
}

} // namespace millrace::cuda

// The online softmax (Milakov and Gimelshein 2018; Dao 2022) of a warp's scores as they come out of multiply(): each
// row of 16 is shared by four lanes.
#pragma once

#include "device/cuda/ops/matrix_units.cuh"

#include <cmath>

namespace millrace::cuda {

/// Largest score and sum of probabilities so far, of rows lane / 4 and lane / 4 + 8 of each row tile. Scores are
/// unscaled; scaleLog2 (scale * log2(e), above 0) turns them into powers of two. Sums are each lane's own until
/// finish().
template <int rowTiles>
class OnlineSoftmax {
 public:
  __device__ explicit OnlineSoftmax(float scaleLog2) : m_scale(scaleLog2) {
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        m_largest[r][half] = -INFINITY;
        m_sum[r][half] = 0;
      }
    }
  }

  /// Scores become unnormalised probabilities (0 for -infinity); out, summed so far, is rescaled to the new maximum.
  template <int keyTiles, int columnTiles>
  __device__ void step(float (&scores)[rowTiles][keyTiles][4], float (&out)[rowTiles][columnTiles][4]) {
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = m_largest[r][half];
#pragma unroll
        for (int n = 0; n < keyTiles; ++n)
          largest = fmaxf(largest, fmaxf(scores[r][n][2 * half], scores[r][n][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        // A row that has seen no key yet: any finite number keeps -infinity minus it what it is.
        const float scaled = largest == -INFINITY ? 0.0f : largest * m_scale;
        const float shrink = fastExp2(m_largest[r][half] * m_scale - scaled);
        m_largest[r][half] = largest;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < keyTiles; ++n) {
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            scores[r][n][i] = fastExp2(scores[r][n][i] * m_scale - scaled);
            sum += scores[r][n][i];
          }
        }
        m_sum[r][half] = m_sum[r][half] * shrink + sum;
#pragma unroll
        for (int c = 0; c < columnTiles; ++c) {
          out[r][c][2 * half] *= shrink;
          out[r][c][2 * half + 1] *= shrink;
        }
      }
    }
  }

  /// Sums over the lanes of each row; no step may follow.
  __device__ void finish() {
#pragma unroll
    for (int r = 0; r < rowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        m_sum[r][half] += __shfl_xor_sync(0xffffffffu, m_sum[r][half], 1);
        m_sum[r][half] += __shfl_xor_sync(0xffffffffu, m_sum[r][half], 2);
      }
    }
  }
  __device__ float sum(int rowTile, int half) const {
    return m_sum[rowTile][half];
  }
  /// Natural logarithm of the sum of the exponentials of the scaled scores.
  __device__ float logSum(int rowTile, int half, float scale) const {
    return m_largest[rowTile][half] * scale + logf(m_sum[rowTile][half]);
  }

 private:
  float m_scale;
  float m_largest[rowTiles][2], m_sum[rowTiles][2];
};

/// Neighbouring 16 x 8 tiles of results as a of multiply(), rounded to bf16: they are laid out alike.
__device__ inline void asLeft(std::uint32_t (&a)[4], const float (&first)[4], const float (&second)[4]) {
  a[0] = packBf16(first[0], first[1]);
  a[1] = packBf16(first[2], first[3]);
  a[2] = packBf16(second[0], second[1]);
  a[3] = packBf16(second[2], second[3]);
}

} // namespace millrace::cuda

// The instructions behind the bf16 kernels, one function each: products of 16 x 8 x 16 on the matrix units, how their
// operands leave shared memory, and copies into it that do not wait. All exist from compute capability 8.0 on.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>

namespace millrace::cuda {

/// c += a b. With g = lane / 4 and t = lane % 4, and pairs of columns (a, c) or rows (b) in one register, lower first:
///   a (16, 16): (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8)
///   b (16, 8):  (2t, g), (2t + 8, g)
///   c (16, 8):  (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
__device__ inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8 x 8 matrices of 16 bits. Lane l gives the address of row l % 8 of matrix l / 8, 16 bytes; of matrix i, it
/// gets row l / 4, columns 2 (l % 4) and the next, in to[i].
__device__ inline void loadMatrices(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// Likewise, of the transposed matrices.
__device__ inline void loadTransposed(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// 16 bytes into shared memory, past the L1 cache: the global ones, or zeros (from is not read then, and may lie
/// outside of any allocation).
__device__ inline void copyAsync16(std::uint32_t to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present ? 16 : 0) : "memory");
}

/// Likewise, 4 bytes.
__device__ inline void copyAsync4(std::uint32_t to, const void* from, bool present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(present ? 4 : 0) : "memory");
}

/// Ends a group of copies of this thread.
__device__ inline void endCopyGroup() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits for this thread's groups but the last `pending`; others see the bytes after a barrier.
template <int pending>
__device__ void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// The compiler knows nothing of the value any more. What is cheap to work out again and again inside a loop would
/// otherwise be worked out before it, and take the registers of the accumulators.
__device__ inline void hide(std::uint32_t& value) {
  asm volatile("" : "+r"(value));
}

__device__ inline void hide(int& value) {
  asm volatile("" : "+r"(value));
}
template <class T>
__device__ void hide(const T*& pointer) {
  asm volatile("" : "+l"(pointer));
}

/// 2^x within 2 units in the last place of fp32; 0 for -infinity.
__device__ inline float fastExp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Hyperbolic tangent, with an absolute error of a few units in the last place of 1.
struct FastTanh {
  __device__ float operator()(float x) const {
    constexpr float twiceLog2OfE = 2.88539008177792681f;
    return 1.0f - __fdividef(2.0f, 1.0f + fastExp2(x * twiceLog2OfE));
  }
};

/// Two numbers rounded to bf16 (nearest even), the first in the lower half.
__device__ inline std::uint32_t packBf16(float first, float second) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}

} // namespace millrace::cuda

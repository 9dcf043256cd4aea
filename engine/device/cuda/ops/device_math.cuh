// What kernels share: elements of either dtype in fp32 arithmetic, reductions in a fixed order.
#pragma once

#include "tensor/tensor.h"

#include <cstdint>
#include <cuda_bf16.h>

namespace millrace::cuda {

/// Calls function(element) with a value of the C++ type of an activation dtype: the switch from run time to types.
template <class Function>
void dispatchActivation(DType dtype, Function&& function) {
  if (dtype == DType::BF16)
    function(__nv_bfloat16{});
  else
    function(float{});
}

__device__ inline float toFloat(float x) {
  return x;
}
__device__ inline float toFloat(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
/// Nearest even.
template <class T>
__device__ T fromFloat(float x);
template <>
__device__ inline float fromFloat<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 fromFloat<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// Sum over a warp; every lane has it. The order is fixed by the lanes.
template <class T>
__device__ T warpSum(T value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/// Sum over a block of at most 1024 threads (whole warps); every thread has it. scratch: 32 elements of shared memory,
/// free to be used again when this returns.
template <class T>
__device__ T blockSum(T value, T* scratch) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  value = warpSum(value);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = warpSum(lane < warps ? scratch[lane] : T(0));
  __syncthreads();
  return value;
}

} // namespace millrace::cuda

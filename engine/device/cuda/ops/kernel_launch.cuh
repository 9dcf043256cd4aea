// Launches with more shared memory than a kernel gets unasked, and that memory as kernels see it.
#pragma once

#include "device/cuda/cuda_error.h"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

namespace millrace::cuda {

/// Runs kernel(args) on `blocks` blocks. Throws EngineException when the launch is refused.
template <class Args>
void launch(cudaStream_t stream, void (*kernel)(Args), std::int64_t blocks, int threads, int sharedBytes,
            const Args& args, const char* name) {
  if (blocks == 0) return;
  if (sharedBytes > 48 * 1024) {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               sharedBytes),
          name);
  }
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(sharedBytes),
           stream>>>(args);
  checkLaunch(name);
}

/// The block's dynamic shared memory, 128-byte aligned.
__device__ inline std::byte* sharedMemory() {
  extern __shared__ __align__(128) unsigned char millraceSharedMemory[];
  return reinterpret_cast<std::byte*>(millraceSharedMemory);
}

/// An address in shared memory as the instructions of matrix_units.cuh take it.
__device__ inline std::uint32_t sharedAddress(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

} // namespace millrace::cuda

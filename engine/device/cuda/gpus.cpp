#include "device/gpus.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_kernels.h"
#include "device/cuda/driver.h"
#include "device/cuda/usable_gpu.h"

#include <fmt/format.h>

namespace millrace {

Status cuda::checkUsable(int index) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
    return tl::unexpected<Error>(cudaFailure(status, "looking for GPUs"));
  if (index < 0 || index >= count)
    return badInput(fmt::format("there is no GPU cuda:{}: this machine has {}", index,
                                count == 0 ? "none" : fmt::format("cuda:0 to cuda:{}", count - 1)),
                    "device");
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, index); status != cudaSuccess)
    return tl::unexpected<Error>(cudaFailure(status, "asking for the GPU's properties"));
  constexpr int ampere = 8; // bf16 matrix units and asynchronous copies to shared memory
  if (properties.major < ampere)
    return failed(fmt::format("{} has compute capability {}.{}; training needs 8.0 (Ampere) or newer: use another GPU, "
                              "or train with --device cpu",
                              properties.name, properties.major, properties.minor));
  return checkWordWaits(index);
}

int cudaRelease() {
  return CUDART_VERSION / 1000 * 100 + CUDART_VERSION % 1000 / 10;
}

Result<int> cudaIndexOf(const std::string& pciAddress) {
  int index = -1;
  const cudaError_t status = cudaDeviceGetByPCIBusId(&index, pciAddress.c_str());
  if (status == cudaSuccess) return index;
  (void)cudaGetLastError(); // it is told here; later launches are not to be blamed
  if (status != cudaErrorInvalidValue && status != cudaErrorInvalidDevice)
    return tl::unexpected<Error>(cuda::cudaFailure(status, "looking for the GPU at PCI " + pciAddress));
  return failed(fmt::format("CUDA does not offer the GPU at PCI {} to this program: is it hidden by "
                            "CUDA_VISIBLE_DEVICES?",
                            pciAddress));
}

Result<GpuMemory> gpuMemory(int index) {
  MILLRACE_CHECK(cuda::checkUsable(index));
  try {
    cuda::check(cudaSetDevice(index), "choosing the GPU");
    cuda::check(cudaFree(nullptr), "making the GPU's context");
    const CudaKernels kernels; // what every device takes beside its buffers
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "asking for the GPU's free memory");
    return GpuMemory{static_cast<Bytes>(free), static_cast<Bytes>(total)};
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

} // namespace millrace

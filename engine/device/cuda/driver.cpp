#include "device/cuda/driver.h"

#include "device/cuda/cuda_error.h"

#include <cuda.h>

namespace millrace::cuda {

namespace {

template <class Function>
Function driverFunction(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned version = 12000;
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<Function>(function);
}

using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

WaitValue waitValue() {
  static const auto function = driverFunction<WaitValue>("cuStreamWaitValue32");
  return function;
}

} // namespace

Status checkWordWaits(int device) {
  using GetAttribute = CUresult (*)(int*, CUdevice_attribute, CUdevice);
  const auto attribute = driverFunction<GetAttribute>("cuDeviceGetAttribute");
  int can = 0;
  if (!waitValue() || !attribute ||
      attribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device) != CUDA_SUCCESS || can == 0)
    return failed("this GPU's driver cannot make a stream wait for the host (stream memory operations), which training "
                  "needs; update the NVIDIA driver, or train with --device cpu");
  return {};
}

void waitForWord(cudaStream_t stream, const std::uint32_t* word) {
  const CUresult status = waitValue()(stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ);
  if (status != CUDA_SUCCESS)
    throw EngineException({ErrorKind::Failed, "the GPU failed at waiting for the host: driver error " +
                                                  std::to_string(static_cast<int>(status))});
}

} // namespace millrace::cuda

#include "device/cuda/cuda_error.h"

#include <fmt/format.h>

namespace millrace::cuda {

namespace {

/// What a person can do about it; empty where only the text itself helps.
const char* remedy(cudaError_t status) {
  switch (status) {
  case cudaErrorNoDevice:
    return "no NVIDIA GPU can be used here: check with nvidia-smi, or train with --device cpu";
  case cudaErrorInsufficientDriver:
    return "the NVIDIA driver is older than this build's CUDA: update the driver, or train with --device cpu";
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorUnsupportedPtxVersion:
    return "this build has no code for this GPU's architecture: build with -DMILLRACE_CUDA_ARCHITECTURES=native";
  case cudaErrorMemoryAllocation:
    return "close other programs that use the GPU, or lower memory.vram_limit";
  case cudaErrorECCUncorrectable:
  case cudaErrorHardwareStackError:
    return "the GPU reports a fault of its hardware; resume from the last checkpoint, on another GPU if it comes back";
  default:
    return "";
  }
}

} // namespace

Error cudaFailure(cudaError_t status, const std::string& doing) {
  std::string text =
      fmt::format("the GPU failed at {}: {} ({})", doing, cudaGetErrorString(status), cudaGetErrorName(status));
  if (const std::string what = remedy(status); !what.empty()) text += "; " + what;
  return {status == cudaErrorMemoryAllocation ? ErrorKind::DoesNotFit : ErrorKind::Failed, std::move(text)};
}

} // namespace millrace::cuda

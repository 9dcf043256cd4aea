// GPUs as CUDA offers them to this program, before a device is made of one. Any thread.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <string>

namespace millrace {

/// The release of CUDA that this was built with, 1208 for 12.8; 0: without CUDA.
int cudaRelease();

/// CUDA's own number of the card at a PCI address ("0000:17:00.0"), which need not be the driver's: CUDA counts the
/// fastest first and leaves out what CUDA_VISIBLE_DEVICES hides. Errors: it does not offer that card.
Result<int> cudaIndexOf(const std::string& pciAddress);

struct GpuMemory {
  Bytes free = 0; ///< with the context made, and what comes with a device: the workspace and cuBLAS's handle
  Bytes total = 0;
};

/// Makes the context of cuda:index, which stays until the program ends. Errors: createCudaDevice()'s.
Result<GpuMemory> gpuMemory(int index);

} // namespace millrace

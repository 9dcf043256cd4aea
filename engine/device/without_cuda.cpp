// In place of cuda/ where the CUDA Toolkit was not found when this was built.
#include "device/device.h"
#include "device/gpus.h"

namespace millrace {

namespace {

tl::unexpected<Error> noCuda() {
  return failed("this build has no CUDA: install the CUDA Toolkit (12.8 or newer) and build again, or train with "
                "--device cpu");
}

} // namespace

int cudaRelease() {
  return 0;
}

Result<int> cudaIndexOf(const std::string&) {
  return noCuda();
}

Result<GpuMemory> gpuMemory(int) {
  return noCuda();
}

Result<std::unique_ptr<Device>> createCudaDevice(ThreadPool&, int, Bytes, Bytes, HostMemoryAdvice) {
  return noCuda();
}

} // namespace millrace

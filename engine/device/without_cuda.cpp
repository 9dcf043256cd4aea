// In place of cuda/ where the CUDA Toolkit was not found when this was built.
#include "device/device.h"

namespace millrace {

Result<std::unique_ptr<Device>> createCudaDevice(ThreadPool&, int, Bytes, Bytes) {
  return failed("this build has no CUDA: install the CUDA Toolkit (12.8 or newer) and build again, or train with "
                "--device cpu");
}

} // namespace millrace

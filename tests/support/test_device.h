// The device that tests of whole steps run on: the CPU, or with MILLRACE_TEST_DEVICE=cuda:0 a GPU, so that the same
// tests hold for both.
#pragma once

#include "device/device.h"

#include <cstdlib>
#include <memory>
#include <string_view>

namespace millrace::test {

inline std::unique_ptr<Device> makeTestDevice(ThreadPool& pool, Bytes deviceLimit, Bytes hostLimit) {
  const char* name = std::getenv("MILLRACE_TEST_DEVICE");
  if (!name || std::string_view(name) == "cpu") return createCpuDevice(pool, deviceLimit, hostLimit);
  if (std::string_view(name) != "cuda:0")
    throw EngineException({ErrorKind::BadInput, "MILLRACE_TEST_DEVICE is neither cpu nor cuda:0"});
  return valueOrThrow(createCudaDevice(pool, 0, deviceLimit, hostLimit));
}

} // namespace millrace::test

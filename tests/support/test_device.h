// The device that tests of whole steps run on: the CPU, or with MILLRACE_TEST_DEVICE=cuda:0 a GPU, so that the same
// tests hold for both.
#pragma once

#include "device/device.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace millrace::test {

inline std::string testDeviceName() {
  const char* name = std::getenv("MILLRACE_TEST_DEVICE");
  return name ? name : "cpu";
}

inline std::unique_ptr<Device> makeTestDevice(ThreadPool& pool, Bytes deviceLimit, Bytes hostLimit) {
  return valueOrThrow(openDevice(testDeviceName(), pool, deviceLimit, hostLimit));
}

} // namespace millrace::test

// A GPU for tests of the CUDA backend, which say so and skip where there is none.
#pragma once

#include "device/device.h"
#include "device/kernels.h"

#include <QtTest>
#include <memory>

namespace millrace::test {

class Gpu {
 public:
  Gpu() : m_pool(2) {
    auto opened = createCudaDevice(m_pool, 0, 8 * GiB, 8 * GiB);
    if (opened)
      m_device = std::move(*opened);
    else
      m_problem = opened.error().message;
  }

  explicit operator bool() const { return m_device != nullptr; }
  const std::string& problem() const { return m_problem; }
  Device& device() { return *m_device; }
  Kernels& kernels() { return m_device->kernels(); }
  Buffer allocate(Bytes bytes, MemorySpace space = MemorySpace::Device) {
    return valueOrThrow(m_device->allocate(bytes, space, "a test"));
  }

 private:
  ThreadPool m_pool;
  std::unique_ptr<Device> m_device;
  std::string m_problem;
};

/// The first line of a test that needs one.
#define MILLRACE_NEED_GPU(gpu)                                                                                         \
  if (!(gpu)) QSKIP(qPrintable(QString::fromStdString((gpu).problem())))

} // namespace millrace::test

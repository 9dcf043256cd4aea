// What tests of the CUDA backend share: the GPU, without which they say so and skip, and copies of host memory on it.
#pragma once

#include "device/device.h"
#include "device/kernels.h"
#include "support/matmul_tensors.h"

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

/// Host memory, copied whole to memory of the GPU, gaps between rows included. The host memory must outlive it.
class DeviceCopy {
 public:
  DeviceCopy(Device& device, Stream& stream, void* host, Bytes bytes)
      : m_stream(&stream),
        m_host(static_cast<std::byte*>(host)),
        m_bytes(bytes),
        m_buffer(valueOrThrow(device.allocate(bytes, MemorySpace::Device, "test"))) {
    upload();
  }
  /// The buffer begins at its first row (no offset).
  DeviceCopy(Device& device, Stream& stream, const MatrixBuffer& host)
      : DeviceCopy(device, stream, host.view().data, bytesOf(host.view())) {}

  bool holds(const TensorView& host) const {
    const auto* const data = static_cast<const std::byte*>(host.data);
    return data >= m_host && data < m_host + m_bytes;
  }
  /// A view of the host memory, on the GPU: the same offset, shape and strides.
  TensorView view(TensorView host) const {
    host.data = m_buffer.data() + (static_cast<std::byte*>(host.data) - m_host);
    return host;
  }
  void upload() { m_stream->copy(m_buffer.data(), m_host, m_bytes); }
  /// To where it came from; waits for the stream.
  void download() {
    m_stream->copy(m_host, m_buffer.data(), m_bytes);
    m_stream->synchronize();
  }

 private:
  /// With the gap after the last row, and the element beyond it that MatrixBuffer keeps.
  static Bytes bytesOf(const TensorView& view) {
    return (view.shape[0] * view.strides[0] + 1) * bytesPerElement(view.dtype);
  }

  Stream* m_stream;
  std::byte* m_host;
  Bytes m_bytes;
  Buffer m_buffer;
};

/// The first line of a test that needs one.
#define MILLRACE_NEED_GPU(gpu)                                                                                         \
  if (!(gpu)) QSKIP(qPrintable(QString::fromStdString((gpu).problem())))

} // namespace millrace::test

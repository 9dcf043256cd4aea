// The planes that AdamW is timed on, filled with ordinary numbers. Owned by one measurement.
#pragma once

#include "base/thread_pool.h"
#include "device/device.h"
#include "device/kernels.h"

#include <memory>
#include <vector>

namespace millrace {

class AdamWState {
 public:
  static constexpr std::int64_t pieceElements = 65536;
  static constexpr Bytes bytesPerParameter = 20;

  /// In host memory as training has it: of huge pages, and within a limit of what is asked for.
  static Result<AdamWState> create(ThreadPool& pool, std::int64_t parameters);

  std::int64_t pieces() const { return m_pieces; }
  std::int64_t count() const { return m_pieces * pieceElements; }
  /// Weights in one fp32 plane; m, v and the gradient are the same memory as those of split().
  const AdamWArgs& plain() const { return m_plain; }
  /// Weights in two planes of 16 bits.
  const AdamWArgs& split() const { return m_split; }

 private:
  AdamWState() = default;

  std::int64_t m_pieces = 0;
  std::unique_ptr<Device> m_memory;
  std::vector<Buffer> m_buffers;
  AdamWArgs m_plain, m_split;
};

/// The numbers of an ordinary update.
AdamWScalars ordinaryScalars();

} // namespace millrace

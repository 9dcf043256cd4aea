// Device memory for what an op keeps between its own kernels. One for a device; ops that use it run on one stream, the
// compute stream, in order, so that none needs memory of its own.
#pragma once

#include "base/units.h"

#include <cstddef>

namespace millrace::cuda {

struct Workspace {
  static constexpr Bytes size = 64 * MiB;
  std::byte* data = nullptr; ///< 256-byte aligned
};

} // namespace millrace::cuda

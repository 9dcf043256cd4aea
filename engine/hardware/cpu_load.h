// How busy the machine's processors are, from the kernel's own count. One thread.
#pragma once

#include "hardware/system_files.h"

#include <optional>

namespace millrace {

class CpuLoad {
 public:
  explicit CpuLoad(SystemFiles files = SystemFiles());

  /// The share of the time since the last call, or since it was made, in which hardware threads worked: 0 to 1, over
  /// all of the machine. Nothing where the kernel does not tell, or no time has passed by its count.
  std::optional<double> take();

 private:
  struct Times {
    std::int64_t busy = 0, all = 0; ///< ticks
  };
  std::optional<Times> look() const;

  const SystemFiles m_files;
  std::optional<Times> m_last;
};

} // namespace millrace

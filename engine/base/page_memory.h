// Memory for files that are read and written past the system's cache, which wants whole pages.
#pragma once

#include "base/units.h"

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace millrace {

/// Direct access (O_DIRECT) wants memory, offsets and lengths in multiples of this.
constexpr Bytes pageBytes = 4096;

struct FreePages {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using PageMemory = std::unique_ptr<std::byte, FreePages>;

/// Room for so many bytes, rounded up to whole pages; contents undefined. Null: there is no memory.
PageMemory allocatePages(Bytes bytes);

} // namespace millrace

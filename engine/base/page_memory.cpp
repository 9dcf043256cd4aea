#include "base/page_memory.h"

namespace millrace {

PageMemory allocatePages(Bytes bytes) {
  const auto whole = static_cast<std::size_t>(alignUp(bytes, pageBytes));
  return PageMemory(static_cast<std::byte*>(std::aligned_alloc(pageBytes, whole)));
}

} // namespace millrace

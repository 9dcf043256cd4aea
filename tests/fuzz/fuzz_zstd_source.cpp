// The reader of compressed sources, in pieces whose sizes the first byte decides.
#include "data/zstd_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 61;
  std::vector<std::byte> room(1 + data[0] * 16u);
  ZstdDecoder decoder;
  std::size_t written = 0;
  auto rest = std::as_bytes(std::span(data + 1, size - 1));
  while (!rest.empty() && written < (std::size_t{4} << 20)) {
    auto input = rest.first(std::min(piece, rest.size()));
    const std::size_t given = input.size();
    for (bool more = true; more && written < (std::size_t{4} << 20);) {
      std::span<std::byte> output(room);
      if (!decoder.decode(input, output)) return 0;
      written += room.size() - output.size();
      more = output.empty();
    }
    if (written >= (std::size_t{4} << 20)) return 0;
    if (!input.empty()) __builtin_trap(); // there was room for all of it
    rest = rest.subspan(given);
  }
  (void)decoder.finish();
  return 0;
}

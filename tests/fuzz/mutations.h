// Changes to a seed as fuzzers make them, drawn from a seed of their own: the same everywhere and every time.
#pragma once

#include "base/random.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::fuzz {

/// One to four changes: bytes flipped or replaced, parts removed, doubled or moved, words that readers know put in.
inline std::vector<std::uint8_t> mutated(std::vector<std::uint8_t> bytes, Random& random,
                                         const std::vector<std::string_view>& words) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random.below(limit)); };
  const auto at = [&](std::size_t index) { return bytes.begin() + static_cast<std::ptrdiff_t>(index); };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - place, 24) + 1);
    switch (below(6)) {
    case 0:
      if (place < bytes.size()) bytes[place] = static_cast<std::uint8_t>(bytes[place] ^ (1u << below(8)));
      break;
    case 1:
      if (place < bytes.size()) bytes[place] = static_cast<std::uint8_t>(below(256));
      break;
    case 2:
      bytes.erase(at(place), at(place + length));
      break;
    case 3: {
      const std::vector<std::uint8_t> part(at(place), at(place + length));
      bytes.insert(at(below(bytes.size() + 1)), part.begin(), part.end());
      break;
    }
    case 4:
      if (!words.empty()) {
        const std::string_view word = words[below(words.size())];
        bytes.insert(at(place), word.begin(), word.end());
      }
      break;
    default: // a number becomes another one
      for (std::size_t i = place; i < bytes.size(); ++i)
        if (bytes[i] >= '0' && bytes[i] <= '9') {
          const std::string_view numbers[] = {"0", "-1", "9223372036854775807", "18446744073709551616", "1e400", "0.5"};
          const std::string_view number = numbers[below(6)];
          bytes.erase(at(i));
          bytes.insert(at(i), number.begin(), number.end());
          break;
        }
    }
  }
  return bytes;
}

} // namespace millrace::fuzz

// Byte counts, and text for people: sizes, counts, durations. Pure functions.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

using Bytes = std::int64_t;

constexpr Bytes KiB = Bytes{1} << 10;
constexpr Bytes MiB = Bytes{1} << 20;
constexpr Bytes GiB = Bytes{1} << 30;

/// Every operand that a kernel sees starts at a multiple of this, so that kernels choose the same path everywhere.
constexpr Bytes operandAlignment = 256;

constexpr Bytes alignUp(Bytes bytes, Bytes alignment = operandAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// a * b, or an Error of kind BadInput when it does not fit in 63 bits or an operand is negative.
Result<std::int64_t> checkedMultiply(std::int64_t a, std::int64_t b, std::string_view what);
/// a + b, with the same error.
Result<std::int64_t> checkedAdd(std::int64_t a, std::int64_t b, std::string_view what);

/// "1.50 GiB", "832 B".
std::string formatBytes(Bytes bytes);
/// "1,234,567".
std::string formatCount(std::int64_t count);
/// "12 s", "3 min 20 s", "5 h 02 min", "3 d 04 h", "2.4 years".
std::string formatDuration(double seconds);

/// Reads "24GiB", "24 GB", "512MiB", "1e9", "1073741824". KB, MB, GB, TB are powers of 1000; KiB... of 1024.
Result<Bytes> parseBytes(std::string_view text);

} // namespace millrace

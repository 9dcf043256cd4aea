// The header of a safetensors file: eight bytes of length, then JSON that names each tensor's type, shape and place.
// Parsed as hostile input, in one pass and without a tree of values; written padded. Pure functions.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Element types that files may hold; wider than what kernels compute with.
enum class StoredType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

Bytes bytesPerElement(StoredType type);
/// "F32", "BOOL": as in files.
std::string_view toString(StoredType type);

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::size_t file = 0; ///< index of the shard
  Bytes offset = 0;     ///< in the file, absolute
  Bytes bytes = 0;
  std::int64_t elements() const;
};

/// "(2, 48, 64)".
std::string shapeText(const std::vector<std::int64_t>& shape);

/// What a file to be written holds.
struct SafetensorsEntry {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors; ///< in the order of their contents
  std::map<std::string, std::string> metadata;
};

/// Longer headers are refused; the largest real ones are below 1 MiB.
constexpr Bytes maximumSafetensorsHeader = 100'000'000;

/// text: the JSON alone; the file's contents begin at byte 8 + text.size() and end at fileBytes. Every byte of them
/// must belong to exactly one tensor. source: the file's name for messages.
Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view text, Bytes fileBytes, const std::string& source);

/// The length and the JSON, padded with spaces so that contents begin at a multiple of 8; and the size of the contents.
struct FormattedHeader {
  std::string bytes;
  Bytes contentBytes = 0;
};
Result<FormattedHeader> formatSafetensorsHeader(const std::vector<SafetensorsEntry>& entries,
                                                const std::map<std::string, std::string>& metadata);

} // namespace millrace

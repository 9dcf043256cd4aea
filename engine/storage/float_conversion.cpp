#include "storage/float_conversion.h"

#include "base/bf16.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace millrace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read as they lie");

namespace {

template <class T, class Convert>
void convertAll(std::span<const std::byte> source, std::span<float> destination, Convert convert) {
  for (std::size_t i = 0; i < destination.size(); ++i) {
    T value;
    std::memcpy(&value, source.data() + i * sizeof(T), sizeof(T));
    destination[i] = convert(value);
  }
}

} // namespace

float halfToFloat(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  // Zero and denormals: a multiple of 2^-24, which fp32 holds exactly.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

bool isFloatType(StoredType type) {
  return type == StoredType::F64 || type == StoredType::F32 || type == StoredType::F16 || type == StoredType::BF16;
}

void widenToFloats(StoredType type, std::span<const std::byte> source, std::span<float> destination) {
  assert(isFloatType(type));
  assert(static_cast<Bytes>(source.size()) == static_cast<Bytes>(destination.size()) * bytesPerElement(type));
  switch (type) {
  case StoredType::F32:
    if (!source.empty()) std::memcpy(destination.data(), source.data(), source.size());
    break;
  case StoredType::F16:
    convertAll<std::uint16_t>(source, destination, halfToFloat);
    break;
  case StoredType::BF16:
    convertAll<BFloat16>(source, destination, [](BFloat16 value) { return toFloat(value); });
    break;
  case StoredType::F64:
    convertAll<double>(source, destination, [](double value) { return static_cast<float>(value); });
    break;
  default:
    break;
  }
}

void narrowFromFloats(StoredType type, std::span<const float> source, std::span<std::byte> destination) {
  assert(type == StoredType::F32 || type == StoredType::BF16);
  assert(static_cast<Bytes>(destination.size()) == static_cast<Bytes>(source.size()) * bytesPerElement(type));
  if (type == StoredType::F32) {
    if (!source.empty()) std::memcpy(destination.data(), source.data(), destination.size());
    return;
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    const BFloat16 value = toBFloat16(source[i]);
    std::memcpy(destination.data() + 2 * i, &value, 2);
  }
}

} // namespace millrace

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

std::uint16_t floatToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const auto signedHalf = [&](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (magnitude > 0x7F800000u) return signedHalf(0x7E00u | ((magnitude >> 13) & 0x1FFu)); // a quiet NaN
  if (magnitude >= 0x477FF000u) return signedHalf(0x7C00u);                               // 65520 and more
  if (magnitude >=
      0x38800000u) // 2^-14: a normal half; a carry out of the fraction goes into the exponent, as it should
    return signedHalf((magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13);
  // A multiple of 2^-24: adding 0.5 leaves its digits, rounded to nearest even, at the end of the fraction.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return signedHalf(std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u);
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
  assert(type == StoredType::F32 || type == StoredType::BF16 || type == StoredType::F16);
  assert(static_cast<Bytes>(destination.size()) == static_cast<Bytes>(source.size()) * bytesPerElement(type));
  if (type == StoredType::F32) {
    if (!source.empty()) std::memcpy(destination.data(), source.data(), destination.size());
    return;
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::uint16_t value = type == StoredType::F16 ? floatToHalf(source[i]) : toBFloat16(source[i]).bits;
    std::memcpy(destination.data() + 2 * i, &value, 2);
  }
}

} // namespace millrace

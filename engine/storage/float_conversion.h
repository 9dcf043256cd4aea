// Between stored element types and fp32, in blocks. Widening is exact; narrowing rounds to nearest, ties to even.
#pragma once

#include "base/result.h"
#include "storage/safetensors_header.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace {

/// IEEE half precision, denormals, infinities and NaN payloads included.
float halfToFloat(std::uint16_t bits);

/// The nearest half, ties to even; above 65519.99 infinity. NaN stays NaN.
std::uint16_t floatToHalf(float value);

/// Whether widenToFloats takes this type.
bool isFloatType(StoredType type);

/// source: destination.size() elements of the type (F32, F16, BF16: exact; F64: rounded to nearest), unaligned.
void widenToFloats(StoredType type, std::span<const std::byte> source, std::span<float> destination);

/// destination: source.size() elements of the type, F32, BF16 or F16.
void narrowFromFloats(StoredType type, std::span<const float> source, std::span<std::byte> destination);

} // namespace millrace

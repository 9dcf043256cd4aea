// The rate of large matrix products on a device, as a training step asks for them.
#pragma once

#include "device/device.h"
#include "engine/precision.h"
#include "probe/rounds.h"

#include <cstdint>
#include <functional>

namespace millrace {

/// Sides of the square products that may be measured.
constexpr std::int64_t leastProductSide = 128;
constexpr std::int64_t greatestProductSide = 8192;

struct ProductRate {
  std::int64_t side = 0;
  double flopsPerSecond = 0; ///< median
};

/// The side to measure at: doubled from the least while a product of twice the side would take at most so many seconds
/// (eight times the last) and its operands fit. secondsOf: times one product of a side.
std::int64_t productSide(double seconds, Bytes bytes, Bytes bytesPerElement,
                         const std::function<double(std::int64_t side)>& secondsOf);

/// c = a b^T in the precision, operands of ordinary size, for about so many seconds. Takes up to the bytes of device
/// memory, and 1 MiB of host memory. Bf16 operands are of 2 bytes, whether or not the device is faster with them.
Result<ProductRate> measureProducts(Device& device, Precision precision, double seconds, Bytes bytes,
                                    const ProbeClock& clock = steadyProbeClock());

} // namespace millrace

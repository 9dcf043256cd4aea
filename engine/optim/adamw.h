// The numbers of an AdamW update. The arithmetic itself is device/cpu/ops/adamw.h on the host and Kernels::adamW on a
// device.
#pragma once

#include "device/kernels.h"

#include <cstdint>

namespace millrace {

struct AdamWHyperparameters {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1;
};

/// step: 1 for the first update. Everything in double, rounded once to fp32.
AdamWScalars adamWScalars(const AdamWHyperparameters& hyperparameters, double learningRate, std::int64_t step,
                          double clipFactor);

} // namespace millrace

// What a computation outside a training run (generation, evaluation, benchmarks) may use of the machine.
#pragma once

#include "base/units.h"
#include "engine/precision.h"

#include <string>

namespace millrace {

struct ComputeOptions {
  int threads = 0;       ///< of compute; 0: the usable cores
  Bytes deviceLimit = 0; ///< device memory at most, the CPU's stand-in for it included; 0: what is free
  Bytes hostLimit = 0;   ///< host memory at most; 0: what is free
  Precision precision = Precision::Fp32;
  std::string device = "auto"; ///< "auto", "cpu" or "cuda:N"
};

} // namespace millrace

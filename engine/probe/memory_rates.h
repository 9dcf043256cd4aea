// Rates of memories and of copies between them, measured now. Each call takes seconds and the memory that it says; the
// caller's thread, the pool and the device's streams work. Other programs on the machine show in the results, so
// everything that is compared is measured in turns.
#pragma once

#include "base/result.h"
#include "base/thread_pool.h"
#include "device/device.h"
#include "probe/rounds.h"

#include <cstdint>
#include <string>

namespace millrace {

/// Host AdamW beside the memory traffic that it cannot avoid: the same 16 bytes read and 12 bytes written a parameter
/// by a loop without arithmetic. Parameters per second, medians.
struct AdamWRates {
  std::int64_t parameters = 0;
  std::string instructionSet;
  double traffic = 0;
  double fp32 = 0;      ///< weights in one plane
  double split = 0;     ///< weights in two 16-bit planes
  double fp32Share = 0; ///< of the traffic's rate, median over rounds
  double splitShare = 0;
};

/// Takes 20 bytes a parameter; parameters are rounded up to whole tasks.
Result<AdamWRates> measureAdamW(ThreadPool& pool, std::int64_t parameters, const Rounds& rounds,
                                const ProbeClock& clock = steadyProbeClock());

/// Bytes per second of a device's copies, medians.
struct CopyRates {
  Bytes bytes = 0; ///< of one copy
  double in = 0;   ///< host to device
  double out = 0;
  double both = 0; ///< both at once, their sum
};

/// Takes twice the bytes of both kinds of memory.
Result<CopyRates> measureCopies(Device& device, Bytes bytes, const Rounds& rounds,
                                const ProbeClock& clock = steadyProbeClock());

/// Host AdamW while the device copies both ways without a pause, as in training. Medians.
struct BesideCopiesRates {
  double fp32 = 0;   ///< parameters per second
  double split = 0;  ///< parameters per second
  double copied = 0; ///< bytes per second of the copies meanwhile, both ways together
};

/// Takes 20 bytes a parameter, and twice the bytes of both kinds of memory.
Result<BesideCopiesRates> measureAdamWBesideCopies(ThreadPool& pool, Device& device, std::int64_t parameters,
                                                   Bytes bytes, const Rounds& rounds,
                                                   const ProbeClock& clock = steadyProbeClock());

/// Bytes read and written per second in the device's memory, median: by AdamW on the device, whose time is the memory's
/// alone. Takes 16 bytes of device memory a parameter.
Result<double> measureDeviceMemory(Device& device, std::int64_t parameters, const Rounds& rounds,
                                   const ProbeClock& clock = steadyProbeClock());

} // namespace millrace

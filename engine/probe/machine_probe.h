// All probes of one machine, one part after the other.
#pragma once

#include "base/thread_pool.h"
#include "device/device.h"
#include "engine/probe.h"
#include "probe/rounds.h"

namespace millrace {

/// What the parts are measured on, and with how much memory.
struct ProbePlace {
  ThreadPool& pool;
  Device& device; ///< with room for `bytes` of each kind of memory
  Bytes bytes = 0;
};

constexpr Bytes leastProbeMemory = 16 * MiB;

/// Rates into the report, stamped with its measuredAt; what fails becomes a note. options: the disk, its bytes, seconds
/// and progress are used. Errors: BadInput for the disk's folder, Interrupted.
Status runProbes(FileSystem& files, const ProbePlace& place, const ProbeOptions& options, ProbeReport& report,
                 const ProbeClock& clock = steadyProbeClock());

} // namespace millrace

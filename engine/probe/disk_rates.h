// The rates of the disk behind a folder: large requests past the system's cache, several at once, as state that lives
// on NVMe is read and written.
#pragma once

#include "base/file.h"
#include "probe/rounds.h"

namespace millrace {

struct DiskProbeOptions {
  Bytes mostBytes = 2 * GiB; ///< of the file; never more than half of the free space
  double seconds = 2;        ///< of each of three passes: laying the file down, writing it again, reading it
  int threads = 4;
  Bytes request = MiB; ///< a multiple of 4096
};

struct DiskMeasurement {
  double read = 0;  ///< bytes per second
  double write = 0; ///< bytes per second, onto the disk: the last flush counts
  Bytes fileBytes = 0;
  bool direct = true; ///< false: the file system refuses O_DIRECT, so the system's cache shows in the rates
};

/// Works in a file of its own in the folder, whose name is gone before anything is written: its space is given back
/// however the program ends. Writes at most twice the most bytes. Threads of its own, a request's memory each; the
/// clock is called from them. Errors: the folder cannot be written (BadInput), OutOfSpace, Failed.
Result<DiskMeasurement> measureDisk(FileSystem& files, const Path& folder, const DiskProbeOptions& options = {},
                                    const ProbeClock& clock = steadyProbeClock());

} // namespace millrace

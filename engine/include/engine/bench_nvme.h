// How fast state on disk is read, updated and written back here: plain values, and their JSON form.
#pragma once

#include "engine/bench.h"

namespace millrace {

struct BenchNvmeOptions {
  std::vector<Path> directories; ///< one or more; state is striped over them
  Bytes bytes = 4 * GiB;         ///< of state, all of which is written at least once; rounded to whole pieces
  double seconds = 5;            ///< of each of four measurements
  std::string io = "auto";       ///< "auto", "uring", "threads"
  int threads = 0;               ///< of compute; 0: the usable cores
  /// Told before each measurement and now and then; false gives up with Interrupted.
  std::function<bool(const std::string& part, int done, int parts)> progress;
};

/// Bytes per second.
struct BenchNvmeReport {
  BenchMachine machine;
  std::vector<Path> directories;
  Bytes bytes = 0;                ///< of state
  Bytes request = 0;              ///< moved at once
  int depth = 0;                  ///< requests under way at one time, at most
  std::string io;                 ///< how: "io_uring, 64 requests at once, ..."
  double read = 0;                ///< checked, as in training
  double write = 0;               ///< with checksums taken
  double mixed = 0;               ///< reading and writing as much at once, their sum
  double pipeline = 0;            ///< state read, updated by AdamW and written back: read and written
  double pipelineShare = 0;       ///< pipeline / mixed
  double parametersPerSecond = 0; ///< of the pipeline
  Bytes stateBytes = 0;           ///< that a parameter has on disk
  std::vector<std::string> notes; ///< what a person must know to read the figures
};

/// Through the tier on disk that training uses, in files of its own in the directories, which are removed. Takes about
/// half a GiB of memory. Errors: BadInput, OutOfSpace, Interrupted, Failed.
Result<BenchNvmeReport> benchNvme(FileSystem& files, const BenchNvmeOptions& options);

/// A JSON object, indented.
std::string toJson(const BenchNvmeReport& report);

} // namespace millrace

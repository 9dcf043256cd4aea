// Benchmarks of a machine and of the engine on it: plain values, and their JSON form.
#pragma once

#include "base/file.h"
#include "base/result.h"
#include "engine/compute_options.h"
#include "engine/project.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace millrace {

/// What a figure was measured on.
struct BenchMachine {
  std::string processor;
  int threads = 0; ///< that computed
  int cores = 0;   ///< that this program may use
  Bytes memory = 0;
  std::string instructionSet; ///< "AVX-512", "AVX2", "baseline"
};

struct BenchStepOptions {
  int rounds = 3; ///< each trains some steps, then runs their matrix products alone
  int stepsPerRound = 2;
  /// Told between rounds, on the calling thread; false gives up with Interrupted.
  std::function<bool(int done, int rounds)> progress;
};

/// Seconds are per step, medians over rounds.
struct BenchStepReport {
  BenchMachine machine;
  std::string project;
  std::string model; ///< config.json
  std::int64_t parameters = 0;
  std::int64_t layers = 0;
  std::int64_t rows = 0; ///< of a micro-batch
  std::int64_t context = 0;
  std::int64_t microBatches = 0;
  std::int64_t tokens = 0; ///< of a step
  std::string precision, clip, recompute;
  std::int64_t group = 0;
  int slots = 0;
  bool offloadActivations = false;
  std::int64_t streamedLayers = 0; ///< whose weights cross the bus twice a step

  double tokensPerSecond = 0;
  double seconds = 0;
  double forwardSeconds = 0;
  double backwardSeconds = 0;
  double optimizerSeconds = 0; ///< of host AdamW, which overlaps with the others
  double productSeconds = 0;   ///< the step's matrix products alone, on random numbers, in the same process
  double productFlops = 0;
  double productShare = 0; ///< productSeconds / seconds, median over rounds

  Bytes bytesIn = 0; ///< to the device, per step
  Bytes bytesOut = 0;
  double copyInSeconds = 0;
  double copyOutSeconds = 0;
  struct Stall {
    std::string cause;
    double seconds = 0;
  };
  std::vector<Stall> stalls; ///< of the compute stream
  Bytes devicePeak = 0;
  Bytes hostPeak = 0;
};

/// Trains on random tokens with random weights as the project says: model, shapes, precision, memory limits, threads.
/// Neither its data nor weights are read. source: the project's name for messages. Errors: BadInput, DoesNotFit,
/// Interrupted.
Result<BenchStepReport> benchStep(FileSystem& files, const Project& project, const std::string& source,
                                  const BenchStepOptions& options = {});

struct BenchOptimizerReport {
  BenchMachine machine;
  std::int64_t parameters = 0;
  double trafficBytesPerSecond = 0; ///< the loop without arithmetic
  double fp32ParametersPerSecond = 0;
  double fp32BytesPerSecond = 0;
  double fp32Share = 0; ///< of the loop without arithmetic
  double splitParametersPerSecond = 0;
  double splitBytesPerSecond = 0;
  double splitShare = 0;
};

/// AdamW on the host: 16 bytes read and 12 written a parameter, beside a loop that does only that. Takes 20 bytes a
/// parameter.
Result<BenchOptimizerReport> benchOptimizer(const ComputeOptions& options, std::int64_t parameters = 64'000'000,
                                            int rounds = 9);

struct BenchCopyReport {
  BenchMachine machine;
  std::string device;
  Bytes bytes = 0;
  double inBytesPerSecond = 0; ///< host to device
  double outBytesPerSecond = 0;
  double bothBytesPerSecond = 0; ///< both ways at once, their sum
};

/// Takes four times the bytes.
Result<BenchCopyReport> benchCopy(const ComputeOptions& options, Bytes bytes = 256 * MiB, int rounds = 9);

/// JSON objects, indented.
std::string toJson(const BenchStepReport& report);
std::string toJson(const BenchOptimizerReport& report);
std::string toJson(const BenchCopyReport& report);

} // namespace millrace

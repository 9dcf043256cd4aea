// Benchmarks of a machine and of the engine on it: plain values, and their JSON form.
#pragma once

#include "base/file.h"
#include "base/result.h"
#include "engine/compute_options.h"
#include "engine/project.h"

#include <cstdint>
#include <functional>
#include <optional>
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
  std::string isa = "auto"; ///< of AdamW on the host: "auto", "scalar", "avx2", "avx512"
  /// Of what is in host memory, tables aside, the share that the device updates (0 to 1); nothing: what is fastest.
  std::optional<double> deviceUpdates;
  double linkLimit = 0; ///< bytes per second each way, as over a slower link; 0: as it is. GPUs alone
  /// So many sets of buffers in host memory (4 or more) that all layers share in turn, so that models larger than the
  /// machine's memory can be timed; what is computed then means nothing. 0: each layer has its own.
  int aliasSets = 0;
  /// Told between rounds, on the calling thread; false gives up with Interrupted.
  std::function<bool(int done, int rounds)> progress;
};

/// Seconds are per step, medians over rounds.
struct BenchStepReport {
  BenchMachine machine;
  std::string device; ///< "cpu", "NVIDIA H200"
  int aliasSets = 0;
  double linkLimit = 0;
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
  std::int64_t streamedLayers = 0;  ///< whose weights cross the bus twice a step
  std::int64_t weightsOnDevice = 0; ///< layers whose weights alone are in device memory
  std::int64_t onDevice = 0;        ///< layers that are there wholly
  std::int64_t momentsOnDisk = 0;   ///< layers of which the disk has what AdamW alone needs
  std::int64_t onDisk = 0;          ///< layers that are there wholly
  std::int64_t heldLayers = 0;      ///< whose gradient waits for the next forward though clipping is off
  double updatedOnDevice = 0;       ///< share of the parameters of the others that AdamW updates on the device

  double tokensPerSecond = 0;
  double seconds = 0;
  double forwardSeconds = 0;
  double backwardSeconds = 0;
  double optimizerSeconds = 0; ///< of host AdamW, which overlaps with the others
  double productSeconds = 0;   ///< the step's matrix products alone, on random numbers, in the same process
  double productFlops = 0;
  double productShare = 0;     ///< productSeconds / seconds, median over rounds
  double modelFlops = 0;       ///< that the model's forward and backward need, attention included, nothing twice
  double hardwareFlops = 0;    ///< with what is computed again
  double boundSeconds = 0;     ///< no engine is faster: with these products' rate, and the machine's other rates
  double predictedSeconds = 0; ///< by the plan, at the machine's rates
  bool ratesMeasured = false;  ///< else some of these rates are assumed

  Bytes bytesIn = 0; ///< to the device, per step
  Bytes bytesOut = 0;
  double copyInSeconds = 0;
  double copyOutSeconds = 0;
  Bytes diskRead = 0; ///< per step
  Bytes diskWritten = 0;
  double diskReadSeconds = 0;
  double diskWriteSeconds = 0;
  struct Stall {
    std::string cause;
    double seconds = 0;
  };
  std::vector<Stall> stalls; ///< of the compute stream
  Bytes devicePeak = 0;
  Bytes hostPeak = 0;
  Bytes diskBytes = 0;            ///< of state on disk
  Bytes driverBytes = 0;          ///< that the GPU's driver takes of its memory besides; 0: no GPU
  Bytes processPeak = 0;          ///< most RAM that the whole process had; 0: not known
  std::vector<std::string> notes; ///< what a person must know to read the figures
};

/// A project to time a model's step with: random weights, bf16, rows of 1024 tokens where the step has as many, and as
/// many tokens a step as given. settings: "dotted.key=value" each, on top of that. Errors: BadInput.
Result<Project> benchProject(FileSystem& files, const std::string& name, const ModelSource& model, std::int64_t tokens,
                             const std::vector<std::string>& settings = {});

/// Trains on random tokens with random weights as the project says: model, shapes, precision, memory limits, threads.
/// Where the project does not say what computes, it is what a run would take.
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

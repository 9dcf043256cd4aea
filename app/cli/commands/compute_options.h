// Options of commands that compute with a model outside of a training run.
#pragma once

#include "command.h"
#include "engine/compute_options.h"
#include "engine/model_choice.h"

namespace millrace::cli {

struct ComputeCommandOptions {
  std::string model;
  bool best = false;
  std::int64_t step = -1; ///< none
  std::string device = "auto";
  std::string precision = "fp32";
  std::string vramLimit;
  std::string ramLimit;
  int threads = 0;
};

void addComputeOptions(CLI::App& command, ComputeCommandOptions& options);

ModelChoice modelChoice(const ComputeCommandOptions& options);
/// BadInput for a device that this build does not have, and for sizes that are none.
Result<ComputeOptions> computeOptions(const ComputeCommandOptions& options);

} // namespace millrace::cli

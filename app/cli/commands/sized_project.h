// A model of so many parameters as a project, for commands that take a size in place of a project file.
#pragma once

#include "command.h"

#include "engine/hardware.h"
#include "engine/project.h"

#include <vector>

namespace millrace::cli {

/// "101B", "350M": what people call a model of so many parameters.
std::string sizeName(double parameters);

/// What a training from random weights needs beside the size.
struct SizedTraining {
  double modelSize = 0; ///< 0: a project file is given instead
  std::vector<std::string> data;
  std::vector<std::string> offloadDirectories;
  std::string vramLimit, ramLimit;
};

void addSizedTraining(CLI::App& command, SizedTraining& options);

/// Trains a tokenizer of the model's vocabulary on the data, then the model; settings ("key=value") go on top. BadInput
/// when an option is missing or wrong.
Result<Project> sizedProject(Program& program, const SizedTraining& options, const HardwareProfile& machine,
                             const std::vector<std::string>& settings);

} // namespace millrace::cli

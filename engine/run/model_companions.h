// The small files of a model folder that matter to other programs and that training does not change: settings of the
// tokenizer, chat template, generation settings. They go with a run's checkpoints, and so into what is exported.
#pragma once

#include "base/file.h"
#include "checkpoint/checkpoint_writer.h"

#include <span>
#include <string>
#include <vector>

namespace millrace {

constexpr Bytes companionLimit = 64 * MiB;

/// Names of files beside a tokenizer.json that go with it, and those that go with the weights.
std::span<const char* const> tokenizerCompanions();
std::span<const char* const> modelCompanions();

/// What there is of them in the two folders, either of which may be empty or missing. A file that cannot be read, or is
/// above the limit, is left out with a line in warnings: a run does not fail for it.
std::vector<CheckpointFile> readCompanions(FileSystem& files, const Path& tokenizerFolder, const Path& modelFolder,
                                           std::vector<std::string>& warnings);

} // namespace millrace

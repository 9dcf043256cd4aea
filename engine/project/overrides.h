// "--set key=value": changes to a project file from the command line.
#pragma once

#include "base/json_reader.h"

#include <string>
#include <vector>

namespace millrace {

/// Each override is "dotted.key=value". The value is JSON if it parses as JSON, else a text; null removes the key.
/// Steps into lists are indices ("data.sources.0.path"). Objects on the way are made as needed. A key that excludes
/// others (training.steps, tokens, epochs, hours; tokens_per_step, micro_batches; model.folder, config; tokenizer.file,
/// train) takes the place of those that the file gives, though two such overrides still contradict each other. Errors:
/// BadInput naming the override. The project is then partly changed and must not be used.
Status applyOverrides(Json& project, const std::vector<std::string>& overrides);

} // namespace millrace

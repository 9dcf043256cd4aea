// Hugging Face config.json -> ModelSpec and back, in every spelling that transformers has used. A key that changes the
// numbers and is not implemented is refused by name, and so is a key that is not known; keys that are known to change
// nothing here are ignored. Absent keys get the defaults that transformers gives them. Pure functions.
#pragma once

#include "base/json_reader.h"
#include "model/model_spec.h"

#include <string>
#include <vector>

namespace millrace {

/// source: the file's name for messages. warnings, when given, gets a line for each key that is accepted though
/// something about it differs here (dropout, which is not applied).
Result<ModelSpec> modelSpecFromConfig(const Json& config, const std::string& source,
                                      std::vector<std::string>* warnings = nullptr);

/// The config.json of a model folder.
Result<ModelSpec> readModelConfig(FileSystem& files, const Path& folder, std::vector<std::string>* warnings = nullptr);

/// A config.json that transformers loads, naming the dtype ("float32", "bfloat16") of the tensors beside it.
Json configFromModelSpec(const ModelSpec& spec, const std::string& dtype);

} // namespace millrace

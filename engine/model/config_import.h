// Hugging Face config.json -> ModelSpec, in every spelling that transformers has used. A key that changes the numbers
// and is not implemented is refused by name; keys that change nothing here are ignored.
#pragma once

#include "base/json_reader.h"
#include "model/model_spec.h"

namespace millrace {

Result<ModelSpec> modelSpecFromConfig(const Json& config, const std::string& source);

/// The config.json of a model folder.
Result<ModelSpec> readModelConfig(FileSystem& files, const Path& folder);

/// A config.json that transformers loads, naming the dtype ("float32", "bfloat16") of the tensors beside it.
Json configFromModelSpec(const ModelSpec& spec, const std::string& dtype);

} // namespace millrace

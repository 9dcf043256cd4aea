// What people have that looks like a model and cannot be trained from as it is: quantized weights, adapters, files of
// other programs, other kinds of model. Each is named with what to do about it. Pure functions of files' names and of a
// config's keys; nothing here reads weights.
#pragma once

#include "base/file.h"
#include "base/json_reader.h"

#include <string>

namespace millrace {

/// BadInput where the path is a single file instead of a folder, or a folder of an adapter, of GGUF, of a pipeline or
/// of another program's weights alone. Fine for everything else, a folder that is not there included.
Status refuseForeignFolder(FileSystem& files, const Path& path);

/// BadInput where a config.json says that the weights are quantized, that the model also takes images or sound, that it
/// is an encoder, or that it is a mixture of experts. source: the file's name for messages.
Status refuseForeignConfig(const Json& config, const std::string& source);

/// Why a folder with a model has no model.safetensors: "; <what is there instead and what to do>", or nothing.
std::string adviceOnWeights(FileSystem& files, const Path& folder);

/// Why a folder with a model has no tokenizer.json: "; <what is there instead and what to do>", or nothing.
std::string adviceOnTokenizer(FileSystem& files, const Path& folder);

} // namespace millrace

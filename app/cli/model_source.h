// A model as commands take it: a folder, or the name of a preset.
#pragma once

#include "engine/project_file.h"

#include <string>

namespace millrace::cli {

/// A folder with a config.json, or else the name of a preset; BadInput where it is neither.
Result<ModelSource> modelSource(FileSystem& files, const std::string& model);

/// "PRESET, PRESET, ...", for help.
std::string presetNames();

} // namespace millrace::cli

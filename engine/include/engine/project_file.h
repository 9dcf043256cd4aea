// Project files for the programs: read with the command line's changes on top, and written.
#pragma once

#include "base/file.h"
#include "engine/project.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Reads and checks a project file. overrides: "dotted.key=value" each, in order, on top of what the file says; a value
/// is JSON if it parses as JSON, else a text. Relative paths are relative to the file's folder. Errors: BadInput naming
/// file and key, what was expected and what to do.
Result<Project> readProject(FileSystem& files, const Path& path, const std::vector<std::string>& overrides = {});

/// The same of a text that may never have been saved. source: the file's name, for messages and for the project's name
/// where the text gives none. folder: what relative paths are relative to; must be absolute. Error::key is the dotted
/// key at fault, as far as one is.
Result<Project> parseProject(std::string_view json, const std::string& source, const Path& folder);

/// Written atomically, with nothing left to a default and absolute paths; reads back as the equal project.
Status writeProject(FileSystem& files, const Path& path, const Project& project);

} // namespace millrace

// Whether the data of a project could be read, asked before a run is begun.
#pragma once

#include "base/file.h"
#include "engine/project.h"

namespace millrace {

/// Looks for every file of the sources, opens it and asks for its size; reads nothing. Errors are those that a run
/// would end with: a path where nothing is, a file that is not allowed to be read, files that are all empty. Error::key
/// is data.sources.
Status checkData(FileSystem& files, const Project& project);

} // namespace millrace

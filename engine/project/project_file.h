// The project file: one JSON object with "format": 1. Reading checks every value and refuses what contradicts itself;
// writing gives a file in which nothing is left to a default, and that reads back as the equal project.
#pragma once

#include "base/json_reader.h"
#include "engine/project_file.h" // readProject, writeProject

#include <string>

namespace millrace {

/// The format version that this program reads and writes.
constexpr std::int64_t projectFormat = 1;

/// source: the file's name for messages. folder: what relative paths are relative to; must be absolute.
/// Errors: BadInput naming source and key, what was expected and what to do.
Result<Project> projectFromJson(const Json& json, const std::string& source, const Path& folder);

/// Fully resolved: every key is there, paths are absolute.
Json projectToJson(const Project& project);

} // namespace millrace

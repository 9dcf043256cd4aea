// Files that are no source of text: recognised by their names or by how they begin, each with the command that makes a
// source of it. Pure.
#pragma once

#include "base/file.h"

#include <string>
#include <string_view>

namespace millrace {

/// Why a file of this name is not read, and what to do; for names that do not tell a format.
std::string adviceOnForeignName(const Path& path);

/// BadInput when no source can begin like this: UTF-16, Parquet, archives; and with plainText NUL bytes anywhere in it.
/// The error names the file and, where there is one, the command that converts it.
Status refuseForeignContents(const Path& path, std::string_view beginning, bool plainText);

} // namespace millrace

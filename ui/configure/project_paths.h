// Paths in a project's text: relative to the file where they are inside its folder. Pure functions; any thread.
#pragma once

#include "configure/json_text.h"

#include <QString>

namespace millrace::ui {

/// How a project file in the folder names an absolute path: relative when it is inside, else as it is.
QString storedPath(const QString& path, const QString& folder);

/// The path that a project file in the folder means.
QString meantPath(const QString& stored, const QString& folder);

/// The text of a project in one folder as it must be in another to mean the same files. text: a JSON object that
/// parses.
std::string movedText(std::string text, const QString& from, const QString& to);

} // namespace millrace::ui

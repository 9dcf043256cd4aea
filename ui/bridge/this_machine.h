// This machine as plans of the window look at it: the same folders as the command line's, so that both answer alike.
#pragma once

#include "engine/hardware.h"
#include "engine/project.h"

#include <vector>

namespace millrace::ui {

/// Whose drives matter to a run of the project: where runs go, and where its state may live. Any thread.
std::vector<std::filesystem::path> foldersOf(const Project& project);

} // namespace millrace::ui

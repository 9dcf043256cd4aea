// Options by which a command takes a project, with changes on top of its file.
#pragma once

#include "command.h"

namespace millrace::cli {

struct ProjectOptions {
  std::string project;
  std::vector<std::string> settings;     ///< key=value, of --set
  std::vector<std::string> moreSettings; ///< key=value behind the project
  std::string device;
};

/// optional: the command can do without a project.
void addProjectOptions(CLI::App& command, ProjectOptions& options, bool optional = false);

/// Behind --set the first word of "a=1 b=2" is taken for the project where there is none: for a command whose model was
/// given otherwise it is a setting.
void takeProjectForSetting(ProjectOptions& options);

/// Settings in the order in which they apply.
std::vector<std::string> settingsOf(const ProjectOptions& options);

/// The project file with the settings and the device on top.
Result<Project> readProject(Program& program, const ProjectOptions& options);

} // namespace millrace::cli

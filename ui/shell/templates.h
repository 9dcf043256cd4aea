// Projects to begin with, which ship with the program.
#pragma once

#include <QString>
#include <vector>

namespace millrace::ui {

struct ProjectTemplate {
  QString name; ///< for programs
  QString title;
  QString description;
  QString resource; ///< path of its file among the program's resources
};

std::vector<ProjectTemplate> projectTemplates();

} // namespace millrace::ui

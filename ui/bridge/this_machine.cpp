#include "bridge/this_machine.h"

#include "engine/runs.h"

namespace millrace::ui {

std::vector<std::filesystem::path> foldersOf(const Project& project) {
  std::vector<std::filesystem::path> folders;
  if (auto runs = runsFolder()) {
    // It may not have been made yet: the drive is that of the folder in which it will be.
    std::error_code code;
    while (!std::filesystem::exists(*runs, code) && runs->has_relative_path()) *runs = runs->parent_path();
    folders.push_back(*runs);
  }
  const auto& directories = project.memory.nvme.directories;
  folders.insert(folders.end(), directories.begin(), directories.end());
  return folders;
}

} // namespace millrace::ui

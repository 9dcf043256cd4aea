// A made-up /proc, /sys and /dev in a temporary folder, for SystemFiles to read.
#pragma once

#include "hardware/system_files.h"

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>
#include <string>

namespace millrace {

class FakeTree {
 public:
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(real(path).parent_path());
    std::ofstream(real(path), std::ios::binary) << text;
  }
  /// target: absolute inside the tree; the link is relative, as in /sys.
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(real(path).parent_path());
    std::filesystem::create_symlink(real(target).lexically_relative(real(path).parent_path()), real(path));
  }
  void folder(const std::string& path) { std::filesystem::create_directories(real(path)); }

  Path root() const { return Path(m_folder.path().toStdString()); }
  Path real(const std::string& path) const { return root() / Path(path).relative_path(); }
  SystemFiles files() const { return SystemFiles(root()); }

 private:
  QTemporaryDir m_folder;
};

} // namespace millrace

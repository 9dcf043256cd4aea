// The rules of the source tree: which folders there are, what each may include, and what an engine must not do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace millrace {

struct Violation {
  std::string file; ///< relative to the root
  int line = 0;     ///< 0: the file as a whole
  std::string rule; ///< what is wrong
};

/// Every violation in the tree below root, in the order of file names.
std::vector<Violation> checkTree(const std::filesystem::path& root);

/// "file:line: rule", a line each.
std::string describe(const std::vector<Violation>& violations);

} // namespace millrace

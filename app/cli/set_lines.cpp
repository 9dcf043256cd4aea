#include "set_lines.h"

#include "engine/project.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::cli {

std::vector<std::string> setLines(const std::vector<SetLoss>& sets) {
  const auto nameOf = [](const SetLoss& set) { return set.name.empty() ? std::string("(no set)") : set.name; };
  std::size_t width = 0;
  for (const SetLoss& set : sets) width = std::max(width, nameOf(set).size());
  std::vector<std::string> lines;
  for (const SetLoss& set : sets)
    lines.push_back(fmt::format(
        "  {:<{}}  loss {:.4f}, perplexity {:.2f}{}, {} tokens", nameOf(set), width, set.loss, set.perplexity,
        set.bitsPerByte > 0 ? fmt::format(", {:.3f} bits per byte", set.bitsPerByte) : "", formatCount(set.targets)));
  return lines;
}

} // namespace millrace::cli

// The shipped machine files, compiled in from resources/machines.
#pragma once

#include <span>
#include <string_view>

namespace millrace {

struct ShippedMachine {
  std::string_view name; ///< the file's, without ".json"
  std::string_view text;
};

/// Sorted by name.
std::span<const ShippedMachine> shippedMachines();

} // namespace millrace

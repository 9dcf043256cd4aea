// The loss of each set as lines of text.
#pragma once

#include "engine/set_loss.h"

#include <string>
#include <vector>

namespace millrace::cli {

/// One line a set, in columns.
std::vector<std::string> setLines(const std::vector<SetLoss>& sets);

} // namespace millrace::cli

// A HardwareProfile as JSON for programs and as a table for people. Pure functions.
#pragma once

#include "base/json_reader.h"
#include "engine/hardware.h"

#include <string>

namespace millrace {

/// Sizes in bytes. Absent optionals are null.
Json toJson(const HardwareProfile& profile);

/// Lines of "name  value", ending with a newline. GPU notices are the caller's to add.
std::string hardwareTable(const HardwareProfile& profile);

/// "SSE4.2, AVX2, AVX-512"; "none" when there is none.
std::string describeInstructionSets(const InstructionSets& sets);

} // namespace millrace

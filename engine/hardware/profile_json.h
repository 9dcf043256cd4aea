// A HardwareProfile as the JSON of a machine file, and back. Pure functions.
#pragma once

#include "base/json_reader.h"
#include "engine/hardware.h"

#include <string>

namespace millrace {

/// All fields; sizes in bytes, absent optionals null, rates that are not known left out. The name of this machine's
/// profile is its host's.
Json toJson(const HardwareProfile& profile);

/// source: the file's name for messages. Errors: BadInput, naming file and key.
Result<HardwareProfile> profileFromJson(const Json& json, const std::string& source);

std::string_view toString(DiskKind kind);

} // namespace millrace

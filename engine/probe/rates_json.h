// A machine's measured rates as JSON and as a table: what the cache keeps and what programs print. Pure functions.
#pragma once

#include "base/json_reader.h"
#include "engine/probe.h"

#include <functional>
#include <string>

namespace millrace {

/// The key, the date, the rates that are known, the disks that were measured.
Json ratesToJson(const ProbeReport& report);

/// Each rate of the machine, known or not; those of disks are not among them.
void forEachRate(ProbeReport& report, const std::function<void(Rate&)>& visit);
/// Gives the report what an earlier one knows and it does not.
void keepUnmeasured(ProbeReport& report, ProbeReport earlier);

/// Whether an entry's key is this one. False for what is no entry.
bool isEntryOf(const Json& entry, const MachineKey& machine);

/// Reads what ratesToJson() wrote; every rate is Measured. BadInput names source and key.
Result<ProbeReport> ratesFromJson(const Json& entry, const std::string& source);

/// "2026-03-01T12:00:00Z".
std::string formatWallTime(WallTime time);
/// The reverse; nothing when the text is no such time.
std::optional<WallTime> parseWallTime(const std::string& text);

} // namespace millrace

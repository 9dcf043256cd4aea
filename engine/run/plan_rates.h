// The rates that a run is predicted from: what was measured on this machine, and for the rest what is assumed of
// machines like it.
#pragma once

#include "base/file.h"
#include "engine/hardware.h"
#include "engine/probe.h"
#include "engine/project.h"

namespace millrace {

/// The profile with what was measured on this machine in place of what is assumed. Pure.
HardwareProfile withMeasuredRates(HardwareProfile profile, const ProbeReport& report, Precision precision);

/// The profile with all rates. Of this machine the measured ones are looked up in its cache; of a machine that a file
/// describes it is the file's word.
HardwareProfile withRates(FileSystem& files, HardwareProfile profile, const Project& project);

} // namespace millrace

// Machines described by files: a library that ships with the program, and files that users save or write by hand.
#pragma once

#include "base/file.h"
#include "engine/hardware.h"

#include <string>
#include <vector>

namespace millrace {

constexpr int machineFormat = 1;

/// Names of the shipped machines, sorted: "2x-h100", "h200", "rtx-4090".
std::vector<std::string> machineNames();

/// A shipped machine by its name ("H100 80GB" and "rtx 4090" will do), or the machine file at a path: anything with a
/// '/', or that ends with .json, is a path. Errors: BadInput, listing the names that there are, or naming file and key.
Result<HardwareProfile> findMachine(FileSystem& files, const std::string& nameOrPath);

/// A machine file. Only "format", "name" and the memory of a GPU or of the machine must be there; a size is a number of
/// bytes or a text such as "24GiB", a rate a number a second, a text such as "55 GB/s", "790 TFLOP/s" or
/// "4.7 Gparam/s", or an object that also tells where it is from. Memory of which it is not said how much is free is
/// all free. Errors: BadInput, naming the file and the key; keys that are not known are refused with their nearest
/// neighbour.
Result<HardwareProfile> readMachine(FileSystem& files, const Path& path);

/// Writes the profile, this machine's under its host's name. replace: a file that is there, if it holds a machine; else
/// what is there is BadInput.
Status saveMachine(FileSystem& files, const Path& path, const HardwareProfile& profile, bool replace = false);

/// The profile with a figure for every rate that it lacks (but AdamW on split weights, see HostRates): of GPUs that the
/// library knows by their name from there (with their link and power limit taken into account), of the rest by kind,
/// cores and instruction sets. Such figures are marked RateOrigin::Assumed and say from what; measured and entered ones
/// stay. A GPU that nothing is known of keeps unknown matrix rates. Pure.
HardwareProfile withAssumedRates(HardwareProfile profile);

} // namespace millrace

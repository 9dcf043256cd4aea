#include "engine/machines.h"

#include "base/atomic_file.h"
#include "hardware/machine_library.h"
#include "hardware/profile_json.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

constexpr Bytes fileLimit = 4 * MiB;

bool isPath(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json");
}

/// "NVIDIA H100 80GB" -> "h100".
std::string shortName(const std::string& name) {
  std::string plain;
  for (const char c : name)
    plain += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : {"nvidia-", "geforce-"})
    if (const auto at = plain.find(word); at != std::string::npos) plain.erase(at, word.size());
  for (const std::string_view end : {"-80gb", "-80-gb"})
    if (plain.ends_with(end)) plain.resize(plain.size() - end.size());
  return plain;
}

} // namespace

std::vector<std::string> machineNames() {
  std::vector<std::string> names;
  for (const ShippedMachine& machine : shippedMachines()) names.emplace_back(machine.name);
  return names;
}

Result<HardwareProfile> findMachine(FileSystem& files, const std::string& nameOrPath) {
  if (isPath(nameOrPath)) return readMachine(files, nameOrPath);
  const std::string name = shortName(nameOrPath);
  for (const ShippedMachine& machine : shippedMachines()) {
    if (machine.name != name) continue;
    const std::string source = fmt::format("machine {}", name);
    MILLRACE_TRY(const Json json, parseJson(machine.text, source));
    return profileFromJson(json, source);
  }
  const auto names = machineNames();
  const auto nearest = nearestWord(name, names);
  return badInput(fmt::format("'{}' is no machine that is known{}. There are: {}; or give the path of a machine file, "
                              "with a '/' or ending with .json",
                              nameOrPath, nearest ? fmt::format(" (did you mean {}?)", *nearest) : std::string(),
                              fmt::join(names, ", ")));
}

Result<HardwareProfile> readMachine(FileSystem& files, const Path& path) {
  MILLRACE_TRY(const Json json, readJsonFile(files, path, fileLimit));
  return profileFromJson(json, path.string());
}

Status saveMachine(FileSystem& files, const Path& path, const HardwareProfile& profile, bool replace) {
  if (files.exists(path)) {
    if (!readMachine(files, path))
      return badInput(
          fmt::format("{}: exists and is not a machine file: remove it or give another name", path.string()));
    if (!replace)
      return badInput(fmt::format("{}: exists: give another name, or --force to replace it", path.string()));
  }
  return writeTextFile(files, path, toJson(profile).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

} // namespace millrace

#include "hardware/disk.h"

#include "hardware/mounts.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <system_error>

namespace millrace {

namespace {

bool inside(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.substr(0, folder.size()) == folder && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// The name of the whole disk whose partition or self the /sys folder is: a partition lies in its disk's folder.
std::string wholeDisk(const SystemFiles& files, const std::string& folder) {
  Path device(folder);
  if (files.exists(folder + "/partition")) device = device.parent_path();
  return device.filename().string();
}

} // namespace

Result<DiskFacts> readDiskFacts(const SystemFiles& files, const Path& folder) {
  std::error_code code;
  Path existing = std::filesystem::absolute(folder.empty() ? Path(".") : folder, code);
  if (code) return badInput(fmt::format("{}: cannot examine the folder: {}", folder.string(), code.message()));
  while (!std::filesystem::exists(existing, code) && existing.has_relative_path()) existing = existing.parent_path();
  existing = std::filesystem::canonical(existing, code);
  if (code) return badInput(fmt::format("{}: cannot examine the folder: {}", folder.string(), code.message()));

  DiskFacts disk;
  disk.folder = folder.string();
  struct statvfs space = {};
  if (::statvfs(existing.c_str(), &space) != 0)
    return badInput(fmt::format("{}: cannot read the free space: {}", existing.string(),
                                std::error_code(errno, std::generic_category()).message()));
  disk.total = static_cast<Bytes>(space.f_blocks) * static_cast<Bytes>(space.f_frsize);
  disk.free = static_cast<Bytes>(space.f_bavail) * static_cast<Bytes>(space.f_frsize);

  const Mount* holder = nullptr;
  const std::vector<Mount> mounts = readMounts(files);
  for (const Mount& mount : mounts)
    if (inside(existing.string(), mount.mountPoint) &&
        (!holder || mount.mountPoint.size() >= holder->mountPoint.size()))
      holder = &mount;
  if (!holder) return disk;
  disk.mountPoint = holder->mountPoint;
  disk.fileSystem = holder->type;

  // btrfs and others have a device number of their own; their source still names the block device.
  auto device = files.resolve("/sys/dev/block/" + holder->device);
  if (!device && holder->source.substr(0, 5) == "/dev/") {
    const auto node = files.resolve(holder->source); // /dev/mapper/x is a link to /dev/dm-N
    device = files.resolve("/sys/class/block/" + Path(node.value_or(holder->source)).filename().string());
  }
  if (!device) return disk;
  disk.device = wholeDisk(files, *device);
  const std::string block = "/sys/block/" + disk.device;
  if (const auto rotational = files.number(block + "/queue/rotational")) disk.rotational = *rotational != 0;
  disk.model = std::string(trimmed(files.text(block + "/device/model").value_or("")));
  return disk;
}

} // namespace millrace

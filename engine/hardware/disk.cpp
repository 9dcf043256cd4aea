#include "hardware/disk.h"

#include "hardware/mounts.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
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

constexpr std::string_view networkTypes[] = {"nfs",
                                             "nfs4",
                                             "cifs",
                                             "smb3",
                                             "smbfs",
                                             "ceph",
                                             "glusterfs",
                                             "lustre",
                                             "gpfs",
                                             "beegfs",
                                             "afs",
                                             "ncpfs",
                                             "coda",
                                             "9p",
                                             "drvfs",
                                             "virtiofs",
                                             "vboxsf",
                                             "prl_fs",
                                             "vmhgfs",
                                             "orangefs",
                                             "pvfs2",
                                             "ocfs2",
                                             "gfs2",
                                             "wekafs",
                                             "fuse.sshfs",
                                             "fuse.glusterfs",
                                             "fuse.rclone",
                                             "fuse.s3fs",
                                             "fuse.gcsfuse",
                                             "fuse.juicefs",
                                             "fuse.mount-s3",
                                             "fuse.goofys",
                                             "fuse.davfs",
                                             "davfs",
                                             "fuse.vmhgfs-fuse",
                                             "fuse.portal",
                                             "curlftpfs",
                                             "fuse.curlftpfs",
                                             "fuse.ceph"};
constexpr std::string_view memoryTypes[] = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};

template <std::size_t N>
bool oneOf(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Of a whole disk, or of what a mapped device or an array lies on: then the slowest of them. Unknown where only the
/// host of a virtual machine knows: virtual disks call themselves rotating whatever they lie on.
DiskKind blockKind(const SystemFiles& files, const std::string& name, std::string& model, int depth = 0) {
  const std::string block = "/sys/block/" + name;
  const std::string own = std::string(trimmed(files.text(block + "/device/model").value_or("")));
  if (!own.empty()) model = own;
  if (name.starts_with("nvme")) return DiskKind::Nvme;
  if (name.starts_with("zram") || name.starts_with("ram") || name.starts_with("pmem")) return DiskKind::Memory;
  if (name.starts_with("nbd") || name.starts_with("rbd") || name.starts_with("drbd")) return DiskKind::Network;
  if (const auto parts = files.list(block + "/slaves"); !parts.empty() && depth < 8) {
    std::optional<DiskKind> slowest;
    for (const std::string& part : parts) {
      const auto folder = files.resolve("/sys/class/block/" + part);
      const DiskKind kind = blockKind(files, folder ? wholeDisk(files, *folder) : part, model, depth + 1);
      if (kind == DiskKind::Unknown) return kind;
      if (!slowest || (kind != DiskKind::Memory && kind > *slowest) || *slowest == DiskKind::Memory) slowest = kind;
    }
    return *slowest;
  }
  const auto rotational = files.number(block + "/queue/rotational");
  if (!rotational || name.starts_with("loop") || name.starts_with("dm-")) return DiskKind::Unknown;
  if (*rotational == 0) return DiskKind::Ssd;
  const bool isVirtual = name.starts_with("vd") || name.starts_with("xvd") || own.find("irtual") != std::string::npos ||
                         own.find("VIRTUAL") != std::string::npos || own.starts_with("QEMU");
  return isVirtual ? DiskKind::Unknown : DiskKind::Hdd;
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

  disk.network = oneOf(disk.fileSystem, networkTypes);
  if (disk.network) disk.kind = DiskKind::Network;
  if (oneOf(disk.fileSystem, memoryTypes)) disk.kind = DiskKind::Memory;

  // btrfs and others have a device number of their own; their source still names the block device.
  auto device = files.resolve("/sys/dev/block/" + holder->device);
  if (!device && holder->source.substr(0, 5) == "/dev/") {
    const auto node = files.resolve(holder->source); // /dev/mapper/x is a link to /dev/dm-N
    device = files.resolve("/sys/class/block/" + Path(node.value_or(holder->source)).filename().string());
  }
  if (!device) return disk;
  disk.device = wholeDisk(files, *device);
  const DiskKind kind = blockKind(files, disk.device, disk.model);
  if (disk.kind == DiskKind::Unknown) disk.kind = kind;
  disk.network |= disk.kind == DiskKind::Network;
  return disk;
}

} // namespace millrace

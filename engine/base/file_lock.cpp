#include "base/file_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <iterator>
#include <sys/file.h>
#include <sys/vfs.h>

namespace millrace {

namespace {

struct flock wholeFile() {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

/// Kernels and sandboxes without open-file-description locks have flock, which means the same but cannot be asked about
/// without being taken for a moment.
bool unknownCommand(int code) {
  return code == EINVAL || code == ENOSYS;
}

} // namespace

LockState tryLock(int descriptor) {
  struct flock range = wholeFile();
  if (::fcntl(descriptor, F_OFD_SETLK, &range) == 0) return LockState::Free;
  if (errno == EAGAIN || errno == EACCES) return LockState::Held;
  if (!unknownCommand(errno)) return LockState::Unsupported;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return LockState::Free;
  return errno == EWOULDBLOCK ? LockState::Held : LockState::Unsupported;
}

LockState lockState(int descriptor) {
  struct flock range = wholeFile();
  if (::fcntl(descriptor, F_OFD_GETLK, &range) == 0) return range.l_type == F_UNLCK ? LockState::Free : LockState::Held;
  if (!unknownCommand(errno)) return LockState::Unsupported;
  if (::flock(descriptor, LOCK_SH | LOCK_NB) == 0) {
    ::flock(descriptor, LOCK_UN);
    return LockState::Free;
  }
  return errno == EWOULDBLOCK ? LockState::Held : LockState::Unsupported;
}

bool isSharedFileSystem(int descriptor) {
  struct statfs info = {};
  if (::fstatfs(descriptor, &info) != 0) return true;
  constexpr std::uint32_t shared[] = {
      0x6969,     // NFS
      0x517B,     // SMB
      0xFF534D42, // CIFS
      0xFE534D42, // SMB2
      0x0BD00BD0, // Lustre
      0x47504653, // GPFS
      0x65735546, // FUSE, which sshfs, GlusterFS and others are behind
      0x00C36400, // Ceph
      0x01021997, // 9P
      0x5346414F, // AFS
      0x7461636F, // OCFS2
      0x01161970, // GFS2
      0x19830326, // BeeGFS
  };
  return std::find(std::begin(shared), std::end(shared), static_cast<std::uint32_t>(info.f_type)) != std::end(shared);
}

} // namespace millrace

#include "storage/tier_files.h"

#include "base/file_lock.h"
#include "base/page_memory.h"
#include "base/process_identity.h"

#include <cstring>
#include <fmt/format.h>
#include <linux/magic.h>
#include <random>
#include <string_view>
#include <sys/resource.h>
#include <sys/vfs.h>

namespace millrace {

namespace {

constexpr std::string_view folderPrefix = "millrace-state-";
constexpr std::string_view magic = "millrace state on disk, format 1\n";
constexpr const char* ownerFile = "owner";

/// What each file begins with, for people who find it.
std::string describeOwner(const std::string& owner) {
  const ProcessIdentity process = currentProcess();
  return fmt::format("{}run: {}\nprocess: {} on host {}\nsince: {}\n\n"
                     "A training run keeps here what memory has no room for, as long as its process runs. Without\n"
                     "that process these files mean nothing: a run is resumed from its checkpoints. They are removed\n"
                     "when a run next uses this directory, and may be removed by hand.\n",
                     magic, owner, process.pid, process.host, formatTime(unixTime()));
}

Status writePage(File& file, const std::string& text) {
  const PageMemory page = allocatePages(pageBytes);
  if (!page) return failed("no memory for a page of a file");
  std::memset(page.get(), ' ', static_cast<std::size_t>(pageBytes));
  std::memcpy(page.get(), text.data(), std::min(text.size(), static_cast<std::size_t>(pageBytes)));
  return file.write({page.get(), static_cast<std::size_t>(pageBytes)}, 0);
}

/// The owner's file goes last: without it nobody would know later whose the others are.
Status removeFolder(FileSystem& files, const Path& folder) {
  MILLRACE_TRY(const auto names, files.list(folder));
  for (const std::string& name : names)
    if (name != ownerFile) MILLRACE_CHECK(files.remove(folder / name));
  return files.remove(folder);
}

bool isOurs(File& owner) {
  std::string begin(magic.size(), '\0');
  return owner.read(std::as_writable_bytes(std::span(begin)), 0).has_value() && begin == magic;
}

/// Of processes that are gone, which their locks tell. What cannot be told stays, as does what is not ours.
void sweepDirectory(FileSystem& files, const Path& directory, Log& log) {
  const auto names = files.list(directory);
  if (!names) return; // creating a folder there will say why
  for (const std::string& name : *names) {
    const Path folder = directory / name;
    if (!name.starts_with(folderPrefix) || !files.exists(folder / ownerFile)) continue;
    const auto owner = files.open(folder / ownerFile, OpenMode::ReadWrite);
    if (!owner || !isOurs(**owner)) continue;
    const int descriptor = (*owner)->descriptor();
    const LockState lock =
        descriptor < 0 || isSharedFileSystem(descriptor) ? LockState::Unsupported : tryLock(descriptor);
    if (lock == LockState::Held) continue;
    if (lock == LockState::Unsupported) {
      log.warning(
          "{}: state of a run, and this file system does not tell whether that still goes on. Remove the folder "
          "if it does not",
          folder.string());
    } else if (const Status removed = removeFolder(files, folder); removed) {
      log.info("{}: removed, state that a process left behind", folder.string());
    } else {
      log.warning("State that a process left behind stays: {}", removed.error().message);
    }
  }
}

std::string spaceAdvice() {
  return "Free space there, name further directories in memory.nvme.directories, or give the run more memory "
         "(memory.ram_limit)";
}

/// There the system's cache is the disk, though opening a file past it may be allowed.
bool isInMemory(int descriptor) {
  struct statfs info = {};
  return descriptor >= 0 && ::fstatfs(descriptor, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

Status checkSpace(FileSystem& files, const Path& directory, Bytes needed) {
  MILLRACE_TRY(const Bytes free, files.freeSpace(directory));
  if (needed <= free) return {};
  return failure(ErrorKind::OutOfSpace,
                 fmt::format("{}: {} are needed there for the run's state, {} are free. {}", directory.string(),
                             formatBytes(needed), formatBytes(free), spaceAdvice()));
}

/// The soft limit is kept low for programs that use select(), which this is none of. Where it cannot be raised, opening
/// says so.
void allowOpenFiles(std::size_t more) {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t others = 512;
  const rlim_t wanted = std::min<rlim_t>(others + more, limit.rlim_max);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

void TierFiles::sweep(FileSystem& files, const std::vector<Path>& directories, Log& log) {
  for (const Path& directory : directories) sweepDirectory(files, directory, log);
}

Result<std::unique_ptr<TierFiles>> TierFiles::create(FileSystem& files, const std::vector<Path>& directories,
                                                     const TierLayout& layout, const std::string& owner, Log& log) {
  for (std::size_t d = 0; d < directories.size(); ++d) {
    MILLRACE_CHECK(files.createDirectories(directories[d]));
    sweepDirectory(files, directories[d], log);
    MILLRACE_CHECK(checkSpace(files, directories[d], layout.directoryBytes(d)));
  }
  allowOpenFiles(layout.shards().size());
  const std::string description = describeOwner(owner);
  std::unique_ptr<TierFiles> tier(new TierFiles(files, log));
  for (const Path& directory : directories) MILLRACE_CHECK(tier->makeFolder(directory, description));
  for (const TierShard& shard : layout.shards()) MILLRACE_CHECK(tier->makeShard(shard, description));
  return tier;
}

/// Locked before it says whose it is, so that no other process ever takes it for one that is left over.
Status TierFiles::makeFolder(const Path& directory, const std::string& description) {
  std::random_device random;
  Path folder;
  do {
    folder = directory / fmt::format("{}{:08x}", folderPrefix, random());
  } while (m_files.exists(folder));
  m_folders.push_back(folder);
  MILLRACE_CHECK(m_files.createDirectories(folder));
  MILLRACE_TRY(auto owner, m_files.open(folder / ownerFile, OpenMode::Create));
  if (owner->descriptor() >= 0) (void)tryLock(owner->descriptor()); // without locks, nobody sweeps here either
  MILLRACE_CHECK(writePage(*owner, description));
  m_locks.push_back(std::move(owner));
  return {};
}

Status TierFiles::makeShard(const TierShard& shard, const std::string& description) {
  const Path path = m_folders[shard.directory] / fmt::format("shard-{:05}", shard.number);
  auto file = m_files.open(path, m_direct ? OpenMode::ReadWriteDirect : OpenMode::ReadWrite);
  if (!file && m_direct) { // the file system may not be able to
    file = m_files.open(path, OpenMode::ReadWrite);
    m_direct = false;
  }
  if (!file) return tl::unexpected<Error>(std::move(file.error()));
  if (isInMemory((*file)->descriptor())) m_direct = false;
  if (Status reserved = (*file)->allocate(shard.bytes); !reserved) {
    if (reserved.error().kind == ErrorKind::OutOfSpace) reserved.error().message += ". " + spaceAdvice();
    return reserved;
  }
  MILLRACE_CHECK(writePage(**file, description));
  m_shards.push_back({path, std::move(*file)});
  return {};
}

TierFiles::~TierFiles() {
  m_shards.clear();
  for (const Path& folder : m_folders)
    if (const Status removed = removeFolder(m_files, folder); !removed && m_files.exists(folder))
      m_log.warning("State of the run stays on disk, where it may be removed by hand: {}", removed.error().message);
}

} // namespace millrace

// The files of a tier on disk: a folder `millrace-state-...` in each directory with the shards and a file `owner`,
// whose lock lives as long as the process. They hold the state of a run only while that process runs; each begins with
// a page that says so. One thread.
#pragma once

#include "base/log.h"
#include "storage/block_io.h"
#include "storage/tier_layout.h"

namespace millrace {

class TierFiles {
 public:
  /// Makes the directories where missing, clears away folders of processes that are gone, checks the free space,
  /// creates the files and reserves their room; past the system's cache where the file systems can. owner: the run, for
  /// people who find the files. OutOfSpace says where how much is needed and free. Nothing of ours is left after a
  /// failure.
  static Result<std::unique_ptr<TierFiles>> create(FileSystem& files, const std::vector<Path>& directories,
                                                   const TierLayout& layout, const std::string& owner, Log& log);
  /// Clears away folders of processes that are gone, so that their room counts as free before anything is created.
  static void sweep(FileSystem& files, const std::vector<Path>& directories, Log& log);
  /// Removes them.
  ~TierFiles();
  TierFiles(const TierFiles&) = delete;
  TierFiles& operator=(const TierFiles&) = delete;

  /// As the layout's shards.
  std::span<const BlockFile> shards() const { return m_shards; }
  /// All of them are read and written past the system's cache.
  bool direct() const { return m_direct; }

 private:
  TierFiles(FileSystem& files, Log& log) : m_files(files), m_log(log) {}
  Status makeFolder(const Path& directory, const std::string& description);
  Status makeShard(const TierShard& shard, const std::string& description);

  FileSystem& m_files;
  Log& m_log;
  std::vector<Path> m_folders;
  std::vector<std::unique_ptr<File>> m_locks;
  std::vector<BlockFile> m_shards;
  bool m_direct = true;
};

} // namespace millrace

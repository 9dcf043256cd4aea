// The layout of a run directory, and the rules for beginning, resuming and reading one.
#pragma once

#include "base/file.h"
#include "base/json_reader.h"
#include "run/owner_lock.h"

#include <memory>

namespace millrace {

/// Where everything of a run lies. A value; makes no claim that any of it exists.
class RunDirectory {
 public:
  explicit RunDirectory(Path path) : m_path(std::move(path)) {}

  const Path& path() const { return m_path; }
  std::string name() const;
  Path runFile() const { return m_path / "run.json"; } ///< resolved config, versions, hardware
  Path metrics() const { return m_path / "metrics.jsonl"; }
  Path events() const { return m_path / "events.jsonl"; }
  Path samples() const { return m_path / "samples.jsonl"; }
  Path checkpoints() const { return m_path / "checkpoints"; }
  Path log() const { return m_path / "log.txt"; }
  Path owner() const { return m_path / "owner"; }
  Path control() const { return m_path / "control"; }  ///< Unix socket
  Path notes() const { return m_path / "notes.json"; } ///< people's tags and words about it

 private:
  Path m_path;
};

enum class ExistingRun {
  Refuse,
  Replace, ///< removes what the old run wrote, checkpoints included, and nothing else
};

/// A directory that this process may write.
struct OwnedRun {
  RunDirectory directory;
  std::unique_ptr<OwnerLock> owner;
};

/// A run stands there: it has a run.json.
bool isRun(FileSystem& files, const Path& path);
/// BadInput that says what is missing where none stands.
Status requireRun(FileSystem& files, const RunDirectory& run);

/// Makes the directory (mode 0700) or takes an empty one, and locks it. It is not a run until writeRunFile(). BadInput
/// when a run is there already (see ExistingRun), when it holds files of somebody else, or when a living process has
/// it.
Result<OwnedRun> createRun(FileSystem& files, const Path& path, ExistingRun existing = ExistingRun::Refuse);

/// Locks an existing run to go on with it. BadInput when there is none or a living process has it. From here on the
/// owner's record speaks of this attempt: whoever gives up before training calls OwnerLock::finish() with the reason.
Result<OwnedRun> openRun(FileSystem& files, const Path& path);

/// Writes run.json atomically; from then on the directory is a run.
Status writeRunFile(FileSystem& files, const RunDirectory& run, const Json& contents);
Result<Json> readRunFile(FileSystem& files, const RunDirectory& run);

} // namespace millrace

// Who runs a run directory: a lock on the open file `owner`, and in it a record for people and for file systems that do
// not lock. The lock goes with the process however it ends; the record stays and tells how the run ended.
#pragma once

#include "base/file.h"
#include "base/process_identity.h"
#include "engine/run_event.h"
#include "run/descriptor.h"

#include <memory>
#include <optional>
#include <string>

namespace millrace {

/// The contents of the file.
struct OwnerRecord {
  ProcessIdentity process;
  double since = 0;     ///< seconds since 1970
  double heartbeat = 0; ///< renewed every 10 s
  std::optional<double> ended;
  RunState endState = RunState::Interrupted; ///< with `ended`
  std::string endReason;
};

/// Held as long as the process works on the run. Uses system calls, not a FileSystem: a lock belongs to a descriptor.
class OwnerLock {
 public:
  /// Takes the lock and writes the record. BadInput when a living process holds it, saying which, where and since when;
  /// also when the file system cannot lock and the record does not rule out a holder on another machine.
  static Result<std::unique_ptr<OwnerLock>> acquire(const Path& ownerFile);

  /// Without finish(), the record says later that the run ended without a word.
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  /// Writes how the run ended; works on a full disk too. The lock itself goes with this object.
  void finish(RunState state, const std::string& reason);

  const OwnerRecord& record() const;
  /// Empty, or what a person should know: this file system does not lock, two machines could start the run at once.
  const std::string& warning() const;

 private:
  struct Implementation;
  explicit OwnerLock(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

/// The same lock for whoever tidies up in a run that has ended: held while the descriptor is open. The record stays as
/// it is, and so does what it says of the run's end. The errors of acquire().
Result<Descriptor> holdOwnerFile(const Path& ownerFile);

struct OwnerProbe {
  std::optional<OwnerRecord> record; ///< nothing when there is none or it is damaged
  bool live = false;                 ///< a process holds the run, as far as can be seen from here
};

/// Looks without taking the lock. Any process.
OwnerProbe probeOwner(const Path& ownerFile);

/// "process 1234 on host zeus, since 2026-03-01 14:05:09 UTC".
std::string describe(const OwnerRecord& record);

} // namespace millrace

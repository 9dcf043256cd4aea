// DiskQueue: transfers of the disk tier in the order in which they are submitted, each begun when an event has happened
// and announced by a host signal, so that streams can wait for the disk and the disk for streams. One thread carries
// them out; as many are under way as have been submitted and need not wait. One submitting thread, which never blocks.
#pragma once

#include "base/mutex.h"
#include "device/stream.h"
#include "storage/disk_tier.h"

#include <deque>
#include <thread>
#include <vector>

namespace millrace {

struct DiskOperation {
  enum class Kind { Read, Write };
  Kind kind = Kind::Read;
  std::vector<Event> after; ///< may depend on earlier operations, not on later ones
  DiskTransfer transfer;
  HostSignal done; ///< in the order of submission; fails when the transfer does, or what it waits for
};

class DiskQueue {
 public:
  explicit DiskQueue(DiskTier& tier);
  /// Operations not begun are failed, so that nothing waits for them for ever.
  ~DiskQueue();

  void submit(DiskOperation operation);

 private:
  struct Begun {
    DiskTier::Pending pending;
    HostSignal done;
  };
  void work();
  /// The next one, once there is one; finishes what is under way before it waits. False: the end.
  bool take(DiskOperation& operation);
  void begin(DiskOperation& operation);
  void finishOldest();

  DiskTier& m_tier;
  Mutex m_mutex;
  Condition m_submitted;
  std::deque<DiskOperation> m_operations MILLRACE_GUARDED_BY(m_mutex);
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  std::deque<Begun> m_begun; ///< the thread's alone
  std::thread m_thread;
};

} // namespace millrace

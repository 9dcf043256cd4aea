// DiskUpdater: AdamW of blocks that have planes on disk. One thread takes updates in order and works through each block
// in pieces as a pipeline: while a piece is updated in a buffer, on the pool, the next one is read and the last one
// written, from one block to the next. Only what changes is written. AdamW is element by element, so that pieces change
// no bits. Submitted to by one thread.
#pragma once

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "device/cpu/ops/adamw.h"
#include "device/stream.h"
#include "storage/disk_tier.h"

#include <deque>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace millrace {

struct DiskUpdate {
  Event landed; ///< the gradient is in memory, or the disk holds it
  /// As a HostUpdate's, and in the order of the elements; operands on disk have dtype and shape but no memory.
  std::vector<AdamWArgs> ranges;
  struct Operand {
    TensorView AdamWArgs::*view = nullptr;
    std::size_t range = 0; ///< of the tier; it begins with the first element
  };
  std::vector<Operand> onDisk;
  HostSignal done; ///< whatever is read from now on is updated
};

class DiskUpdater {
 public:
  /// buffers: page-aligned host memory, each large enough for pieceElements() of any update that will come; three or
  /// more let reading, AdamW and writing overlap. All must outlive the updater.
  DiskUpdater(DiskTier& tier, ThreadPool& pool, std::span<const std::span<std::byte>> buffers,
              AdamWIsa isa = bestAdamWIsa());
  /// Updates not begun are failed, so that nothing waits for them for ever.
  ~DiskUpdater();

  void submit(DiskUpdate update);
  /// Seconds spent in AdamW since the beginning.
  double busySeconds() const;

 private:
  struct Work;  // an update and how far it is
  struct Piece; // elements of one in a buffer
  struct Buffer {
    std::byte* data = nullptr;
    Bytes bytes = 0;
  };
  void work();
  bool take(DiskUpdate& update);
  void process(const std::shared_ptr<Work>& work);
  void startReading(Piece piece);
  void updatePieceRead();
  void finishOldestWrite();
  void drain();
  std::vector<DiskTransfer> transfersOf(const Piece& piece, bool written) const;
  std::vector<AdamWArgs> argumentsOf(const Piece& piece) const;

  DiskTier& m_tier;
  ThreadPool& m_pool;
  const AdamWIsa m_isa;
  std::vector<Buffer> m_buffers;
  std::size_t m_next = 0;

  // The thread's alone. Of the pieces under way, oldest first: those being written, then at most one being read.
  std::deque<Piece> m_writing;
  std::unique_ptr<Piece> m_reading;

  mutable Mutex m_mutex;
  Condition m_submitted;
  std::deque<DiskUpdate> m_updates MILLRACE_GUARDED_BY(m_mutex);
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  double m_busySeconds MILLRACE_GUARDED_BY(m_mutex) = 0;
  std::thread m_thread;
};

} // namespace millrace

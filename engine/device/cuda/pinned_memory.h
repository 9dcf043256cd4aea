// Host memory that the GPU copies from and to at full speed: mapped in exact sizes, on huge pages where the system
// gives them, touched by all threads at once, then registered. cudaHostAlloc takes eight times as long and rounds sizes
// up.
#pragma once

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/units.h"

#include <map>
#include <vector>

namespace millrace {

/// Not thread-safe.
class PinnedMemory {
 public:
  explicit PinnedMemory(ThreadPool& pool) : m_pool(pool) {}

  /// Zero-filled. DoesNotFit names what the system refused. Memory that cannot be registered stays pageable: copies
  /// from it are slow and not asynchronous, which pageableBytes() tells.
  Result<void*> allocate(Bytes bytes, const std::string& purpose);
  void release(void* data, Bytes bytes);

  Bytes pageableBytes() const { return m_pageable; }

 private:
  struct Piece {
    std::byte* data = nullptr;
    Bytes bytes = 0;
  };

  ThreadPool& m_pool;
  std::map<void*, std::vector<Piece>> m_registered; ///< by the start of the allocation
  Bytes m_pageable = 0;
};

} // namespace millrace

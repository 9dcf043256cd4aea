// A slower link than there is, imitated: copies are followed by a pause on their stream until they would have been
// done.
#pragma once

#include "base/units.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

enum class LinkWay { In, Out };

/// Copies of one way take turns on the link, whatever stream they are on. Owns its words on the current GPU. Any
/// thread.
class LinkLimit {
 public:
  /// Throws EngineException.
  explicit LinkLimit(double bytesPerSecond);
  ~LinkLimit();
  LinkLimit(const LinkLimit&) = delete;
  LinkLimit& operator=(const LinkLimit&) = delete;

  /// A stream's own word: when its copy would be done.
  class Turn {
   public:
    Turn();
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    unsigned long long* word() const { return m_word; }

   private:
    unsigned long long* m_word = nullptr;
  };

  /// Before a copy on the stream, and after it.
  void begin(cudaStream_t stream, const Turn& turn, LinkWay way, Bytes bytes);
  void end(cudaStream_t stream, const Turn& turn);

 private:
  const double m_bytesPerSecond;
  unsigned long long* m_free = nullptr; ///< when the link is free again, each way, by the GPU's clock
};

} // namespace millrace::cuda

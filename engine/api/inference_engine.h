// InferenceEngine: pool, device and runner for a model that is computed with but not trained, weights loaded. Owned and
// used by one thread.
#pragma once

#include "api/saved_model.h"
#include "engine/compute_options.h"
#include "run/device_choice.h"
#include "train/forward_runner.h"

#include <functional>
#include <memory>

namespace millrace {

class InferenceEngine {
 public:
  struct Shape {
    std::int64_t rows = 1;
    std::int64_t context = 0;
    std::int64_t cacheTokens = 0; ///< of a key/value cache; 0: none
    std::int64_t headChunk = 256;
  };

  /// Told how many parameters of how many are read; false gives up with Interrupted.
  using Loading = std::function<bool(std::int64_t done, std::int64_t total)>;

  /// Plans, allocates and loads. DoesNotFit says what is needed: layers stream through what the device limit allows.
  static Result<InferenceEngine> create(const SavedModel& source, const ComputeOptions& options, const Shape& shape,
                                        const Loading& loading = {});

  ForwardRunner& runner() { return *m_runner; }
  ThreadPool& pool() { return *m_pool; }
  const Device& device() const { return *m_device; }

 private:
  InferenceEngine() = default;

  std::unique_ptr<ThreadPool> m_pool;
  std::unique_ptr<Device> m_device;
  std::unique_ptr<ForwardRunner> m_runner;
};

/// What computes, threads to compute with and memory that may be taken, defaults filled in from the machine.
struct ComputeLimits {
  HardwareProfile profile;
  DeviceChoice choice;
  int threads = 1;
  Bytes device = 0;
  Bytes host = 0;
  bool gpu() const { return choice.gpu >= 0; }
};
/// Makes the context of a GPU that is chosen. Errors: readyDevice()'s.
Result<ComputeLimits> computeLimits(const ComputeOptions& options);
/// The device that was chosen.
Result<std::unique_ptr<Device>> openDevice(const ComputeLimits& limits, ThreadPool& pool, Bytes deviceLimit,
                                           Bytes hostLimit);

} // namespace millrace

// What is told while data is prepared, or waited for.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <cstdint>
#include <functional>

namespace millrace {

struct DataProgress {
  enum class Phase {
    Checking,   ///< reading the sources, to tell whether they changed; then the cache
    Tokenizing, ///< documents to tokens
  };
  Phase phase = Phase::Checking;
  Bytes done = 0;
  Bytes total = 0;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
};

/// Called on the preparing or waiting thread now and then; false stops with an error of kind Interrupted.
using DataProgressCallback = std::function<bool(const DataProgress&)>;

/// That a callback stopped it.
inline Status dataInterrupted() {
  return failure(ErrorKind::Interrupted, "the preparation of the data was stopped");
}

} // namespace millrace

// What a checkpoint sees of the training state: blocks of parameters, each with three fp32 planes, read and written in
// pieces. Whoever holds the parameters implements it; a checkpoint never has more than a piece in memory.
#pragma once

#include "base/result.h"
#include "model/blocks.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

enum class StatePlane { Master, FirstMoment, SecondMoment };

/// One thread at a time. Elements count as in BlockSpec; the floats are exact.
class TrainingState {
 public:
  virtual ~TrainingState() = default;
  virtual const std::vector<BlockSpec>& blocks() const = 0;
  /// Elements [firstElement, firstElement + destination.size()) of one plane of the block. Pending updates of the block
  /// are applied first: a checkpoint never sees a parameter without its update.
  virtual Status read(std::size_t block, StatePlane plane, std::int64_t firstElement,
                      std::span<float> destination) const = 0;
  virtual Status write(std::size_t block, StatePlane plane, std::int64_t firstElement,
                       std::span<const float> source) = 0;
};

} // namespace millrace

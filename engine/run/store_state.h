// The trainer's store as checkpoints see it.
#pragma once

#include "checkpoint/training_state.h"
#include "train/trainer.h"

namespace millrace {

/// Pending updates must have been applied before a save. The trainer outlives it.
class StoreState final : public TrainingState {
 public:
  explicit StoreState(Trainer& trainer) : m_trainer(trainer) {}

  const std::vector<BlockSpec>& blocks() const override { return m_trainer.runner().store().blocks(); }
  Status read(std::size_t block, StatePlane plane, std::int64_t first, std::span<float> destination) const override;
  Status write(std::size_t block, StatePlane plane, std::int64_t first, std::span<const float> source) override;

 private:
  Trainer& m_trainer;
};

} // namespace millrace

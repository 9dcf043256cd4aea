// StepSchedule: one training step as an immutable list of actions. Layer-major: a layer is visited by a group of
// micro-batches before the next layer is, so its weights cross the bus once for forward and once for backward of the
// group (Trainer carries it out).
#pragma once

#include <cstdint>
#include <vector>

namespace millrace {

enum class ActionKind {
  LoadBatch, ///< a group's token ids and positions to the device
  Embed,     ///< rows of the embedding gathered on the host, sent in, looked up
  Prefetch,  ///< a unit's weights on their way
  Acquire,   ///< a unit's weights leased for what follows
  Release,
  Forward,       ///< a layer on a micro-batch
  BeginGradient, ///< a unit's accumulators zeroed, or brought back
  Head,          ///< loss and its gradient, chunk by chunk
  Backward,      ///< a layer on a micro-batch, recomputed as the policy says
  Reduce,        ///< a unit's gradients out: to the next group's sums, or normed and home for AdamW
  EmbedBackward, ///< gradients of embedding rows out and added on the host
};

struct Action {
  ActionKind kind = ActionKind::LoadBatch;
  std::int64_t unit = -1;       ///< layer index, or the head's: the number of layers
  std::int64_t microBatch = -1; ///< inside the group
  std::int64_t group = 0;       ///< which group of the step
  /// Forward and Backward: whose kept activations are needed next, to be fetched meanwhile; -1: none.
  std::int64_t nextLevel = -1;
  std::int64_t nextMicroBatch = -1;
  bool operator==(const Action&) const = default;
};

struct StepSchedule {
  std::int64_t layers = 0;
  std::int64_t microBatches = 0;
  std::int64_t group = 0;
  std::vector<Action> actions;

  std::int64_t groups() const { return (microBatches + group - 1) / group; }
  /// Micro-batches of a group; the last one may have fewer.
  std::int64_t groupSize(std::int64_t index) const;
};

/// slots: weight buffers that layers share; slots - 1 units are prefetched ahead.
StepSchedule trainingSchedule(std::int64_t layers, std::int64_t microBatches, std::int64_t group, int slots);
/// Forward alone, for one micro-batch: evaluation and sampling.
StepSchedule forwardSchedule(std::int64_t layers, int slots);

} // namespace millrace

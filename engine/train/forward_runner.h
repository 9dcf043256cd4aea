// ForwardRunner: a model in its memory plan, ready to compute: memory, streams, streamers and programs, and the forward
// half of the schedule. Trainer adds the backward half. Made, used and destroyed by one thread.
#pragma once

#include "stream/activation_store.h"
#include "stream/layer_streamer.h"
#include "stream/step_schedule.h"
#include "train/embedding_program.h"
#include "train/head_program.h"
#include "train/layer_program.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace millrace {

class ForwardRunner {
 public:
  /// Allocates the whole plan, but for its planes on disk: disk is made for these (diskRanges()), and may be null where
  /// there are none. All must outlive the runner. Weights are zero until they are written through store().
  static Result<std::unique_ptr<ForwardRunner>> create(Device& device, ThreadPool& pool, const ModelSpec& spec,
                                                       const MemoryPlan& plan, DiskTier* disk = nullptr);

  const ModelSpec& spec() const { return m_spec; }
  const MemoryPlan& plan() const { return m_plan; }
  const RunShape& shape() const { return m_plan.shape; }
  TensorStore& store() { return *m_store; }
  const TensorStore& store() const { return *m_store; }
  Streams& streams() { return m_streams; }
  const Streams& streams() const { return m_streams; }
  const PlannedMemory& memory() const { return m_memory; }

  /// Sum of the losses (nats) of a micro-batch's targets, and how many there are. Blocks until it is known.
  struct Loss {
    double sum = 0;
    std::int64_t targets = 0;
  };
  Loss loss(const MicroBatch& batch);

  /// The loss (nats) at each position of a micro-batch, 0 where there is no target; slower than loss().
  std::vector<float> targetLosses(const MicroBatch& batch);

  /// All logits of a micro-batch, (T, V) row by row; for checks.
  std::vector<float> allLogits(const MicroBatch& batch);

  /// Logits (V) after the last of the tokens, which are one document of at most the planned context.
  std::vector<float> nextLogits(std::span<const std::int32_t> tokens);

  /// Logits (V) after the last of the new tokens, with keys and values of the `cached` earlier ones in the cache. Needs
  /// a plan with cacheTokens; cached + tokens.size() must not pass it.
  std::vector<float> nextLogitsCached(std::span<const std::int32_t> tokens, std::int64_t cached);

  // The pieces that Trainer drives; forward actions of a schedule.
  std::shared_ptr<const PreparedMicroBatch> prepare(const MicroBatch& batch) const;
  void loadBatch(std::span<const std::shared_ptr<const PreparedMicroBatch>> group);
  void embed(std::int64_t microBatch);
  /// Acquire, Prefetch, Release and Forward.
  void execute(const Action& action);
  SequenceViews sequence(std::int64_t microBatch) const;
  const BatchViews& batch(std::int64_t microBatch) const { return m_views[static_cast<std::size_t>(microBatch)]; }
  const std::shared_ptr<const PreparedMicroBatch>& prepared(std::int64_t microBatch) const {
    return m_group[static_cast<std::size_t>(microBatch)];
  }
  /// A record's input part as (T, H) of the micro-batch.
  TensorView activation(std::byte* record, std::int64_t microBatch) const;
  LayerProgram::Blocks layerWeights() const { return {m_lease->block(0), m_lease->block(1)}; }
  HeadProgram::Blocks headWeights() const { return {m_lease->block(0), m_lease->block(1)}; }
  std::byte* workspace() const { return m_workspace; }
  TensorView lossScalar() const { return m_scalars.rows(0, 1); }
  TensorView squaresScalars() const { return m_scalars.rows(1, m_scalars.shape[0] - 1); }
  LayerStreamer& layers() { return *m_layers; }
  ActivationStore& activations() { return *m_activations; }
  EmbeddingProgram& embedding() { return *m_embedding; }
  const LayerProgram& layerProgram() const { return m_layerProgram; }
  const HeadProgram& headProgram() const { return m_headProgram; }
  /// Starts copying the scalars home; readable by scalar() when the event has happened.
  Event fetchScalars();
  double scalar(std::size_t index) const;
  /// Blocks until at most a few units of submitted work lie ahead of the device, so that stopping is quick and queues
  /// stay short.
  void boundRunAhead();
  /// After a step that was given up: what activations are where is forgotten.
  void reset();

 private:
  ForwardRunner(Device& device, ThreadPool& pool, const ModelSpec& spec, const MemoryPlan& plan, PlannedMemory memory,
                DiskTier* disk);
  /// The forward schedule, with the head's place taken by the function, which is given the last layer's output.
  void runForward(const MicroBatch& batch, const std::function<void(const TensorView& x)>& head);
  /// So many floats of the workspace, once what was submitted to compute is done; blocks.
  std::vector<float> fetchWorkspace(Bytes offset, std::int64_t count);

  const ModelSpec m_spec;
  const MemoryPlan m_plan;
  const PlannedMemory m_memory;
  const BatchLayout m_batchLayout;
  Streams m_streams; ///< after the memory that they work on
  std::unique_ptr<TensorStore> m_store;
  std::unique_ptr<LayerStreamer> m_layers;
  std::unique_ptr<ActivationStore> m_activations;
  const TensorView m_scalars; ///< (1 + blocks) fp64 on the device: loss, then sums of squares
  std::unique_ptr<EmbeddingProgram> m_embedding;
  const LayerProgram m_layerProgram;
  const HeadProgram m_headProgram;
  const StepSchedule m_forwardSchedule;
  TensorView m_rope;
  std::byte* m_workspace;
  std::byte* m_deviceBatch;
  std::vector<std::shared_ptr<const PreparedMicroBatch>> m_group;
  std::vector<BatchViews> m_views;
  std::optional<LayerLease> m_lease;
  std::deque<Event> m_submitted;
  Event m_batchFree;
};

} // namespace millrace

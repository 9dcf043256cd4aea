// Trainer: one step at a time. It walks the schedule, knows the norm when backward ends, and leaves the updates to the
// threads and streams that own the state; what the next forward needs first is updated first. Made, used and destroyed
// by the run's thread.
#pragma once

#include "optim/adamw.h"
#include "optim/disk_updater.h"
#include "optim/host_optimizer.h"
#include "stream/device_updater.h"
#include "stream/gradient_streamer.h"
#include "train/forward_runner.h"

#include <functional>
#include <memory>
#include <span>

namespace millrace {

struct TrainerOptions {
  AdamWHyperparameters adamW;
  double maxGradNorm = 1.0;      ///< with clipping on
  bool overlap = true;           ///< false: every action waits for the one before; for measurements
  AdamWIsa isa = bestAdamWIsa(); ///< of AdamW on the host
};

/// One global batch and what follows it.
struct StepInput {
  std::span<const MicroBatch> microBatches; ///< as many as the plan's shape says
  /// The following step's, where known: their embedding rows are updated first. Another batch may follow all the same;
  /// it then waits for the whole table.
  std::span<const MicroBatch> next;
  double learningRate = 0;
};

struct StepOutcome {
  double loss = 0;     ///< mean over unmasked targets, nats
  double gradNorm = 0; ///< before clipping
  double clipFactor = 1;
  bool discarded = false; ///< loss or norm was not finite: the state is as before (with clipping off it may not be)
  std::int64_t targets = 0;
  double forwardSeconds = 0;
  double backwardSeconds = 0;
};

/// What went over the bus since the beginning, and for how long the streams of each way copied.
struct BusUse {
  Bytes in = 0, out = 0;
  double secondsIn = 0, secondsOut = 0;

  BusUse operator+(const BusUse& more) const {
    return {in + more.in, out + more.out, secondsIn + more.secondsIn, secondsOut + more.secondsOut};
  }
  BusUse operator-(const BusUse& less) const {
    return {in - less.in, out - less.out, secondsIn - less.secondsIn, secondsOut - less.secondsOut};
  }
};

class Trainer {
 public:
  /// disk: as of ForwardRunner::create().
  static Result<std::unique_ptr<Trainer>> create(Device& device, ThreadPool& pool, const ModelSpec& spec,
                                                 const MemoryPlan& plan, const TrainerOptions& options,
                                                 DiskTier* disk = nullptr);
  ~Trainer();

  /// Carries out a step; its updates may still be running when it returns. Errors: BadInput for a batch that does not
  /// belong to the model or has no target; Interrupted when stop() answered true at a block boundary, which leaves the
  /// state as before the step (with clipping off the answer is not asked any more once updates have begun).
  /// EngineException when the device fails: the trainer is then of no further use.
  Result<StepOutcome> step(const StepInput& input, const std::function<bool()>& stop = {});

  /// Blocks until every scheduled update has been applied: before checkpoints, evaluation, sampling, export.
  void applyPending();

  ForwardRunner& runner() { return *m_runner; }
  const ForwardRunner& runner() const { return *m_runner; }

  /// AdamW updates so far; the bias corrections follow it.
  std::int64_t updates() const { return m_updates; }
  void setUpdates(std::int64_t updates) { m_updates = updates; }

  /// Of AdamW on the host.
  double optimizerSeconds() const;
  BusUse busUse() const;
  /// Of it the updates that run on the device for the host; they go on when their step has ended.
  BusUse updatesBusUse() const;

  /// The gradient of a block as the last step left it, unclipped; for checks. Only with clipping on and the state on
  /// the host; fp32.
  std::vector<float> gradient(std::size_t block);

 private:
  Trainer(Device& device, ThreadPool& pool, const TrainerOptions& options, std::unique_ptr<ForwardRunner> runner,
          DiskTier* disk);

  struct Timeline; // when the device reached the ends of the phases
  bool run(const StepInput& input, const std::function<bool()>& stop, Timeline& timeline);
  void runHead(const Action& action);
  void runBackward(const Action& action);
  void collect(std::vector<GradientStreamer::Landed> landed);
  double gradNorm() const;
  AdamWScalars scalars(double clipFactor) const;
  void update(const GradientStreamer::Landed& landed, const AdamWScalars& scalars);
  /// Of a block with planes on disk. The event: they are updated.
  Event updateFromDisk(const GradientStreamer::Landed& landed, std::vector<AdamWArgs> ranges);
  /// Of a block's elements those at its end that the device updates for the host.
  std::int64_t updatedOnDevice(std::size_t block) const;
  /// Whether the last update began with all the embedding rows that these use.
  bool updatedFirst(std::span<const MicroBatch> batches) const;
  /// The tables, and the blocks whose gradients have landed.
  void updateDeviceTables(const AdamWScalars& scalars);
  void updateHostTables(const StepInput& input, const AdamWScalars& scalars);
  void updateAll(const StepInput& input, double clipFactor);

  Device& m_device;
  const TrainerOptions m_options;
  std::unique_ptr<ForwardRunner> m_runner;
  GradientStreamer m_gradients;
  const StepSchedule m_schedule;
  std::int64_t m_updates = 0;
  std::vector<bool> m_rowsFirst; ///< by token: updated ahead of the rest of the table; empty before the first update

  // Of the step that runs.
  double m_learningRate = 0;
  float m_lossScale = 0;
  std::vector<TensorView> m_accumulators;
  std::vector<GradientStreamer::Landed> m_landed;
  Event m_embeddingLanded;
  bool m_updating = false; ///< updates of this step have begun: it cannot be taken back

  std::unique_ptr<DeviceUpdater> m_deviceUpdater; ///< null: the host updates all that is there
  // Last: destroyed first, they fail the signals that streams may wait for.
  std::unique_ptr<DiskUpdater> m_diskUpdater; ///< null: nothing is on disk
  std::unique_ptr<HostOptimizer> m_optimizer;
};

} // namespace millrace

#include "train/rehearsal.h"

#include "plan/matrix_products.h"
#include "train/load_weights.h"
#include "train/random_batch.h"
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr std::int64_t fewLayers = 1, moreLayers = 3;
// Rounds of a step each. For about a second a process's steps are slower than those of a long run: memory is touched,
// kernels are made, clocks rise.
constexpr std::size_t fewestRounds = 3, mostRounds = 15;
constexpr std::chrono::seconds warmUp{1}, timed{2};

struct Phases {
  double forward = 0, backward = 0;
};

/// A model of so many layers, all of it on the device, so that nothing is waited for.
class Stage {
 public:
  static Result<Stage> create(const DeviceOpener& open, ThreadPool& pool, const ModelSpec& spec, const RunShape& shape,
                              std::int64_t layers) {
    Stage stage;
    stage.m_spec = std::make_unique<ModelSpec>(spec);
    stage.m_spec->layers.resize(static_cast<std::size_t>(layers), spec.layers.front());
    const MemoryPlan plan = layOutMemory(*stage.m_spec, shape,
                                         std::vector<UnitHome>(static_cast<std::size_t>(layers) + 1, UnitHome::Device));
    MILLRACE_TRY(stage.m_device, open(plan.total(MemoryTier::Device), plan.total(MemoryTier::Host)));
    MILLRACE_TRY(stage.m_trainer, Trainer::create(*stage.m_device, pool, *stage.m_spec, plan, {}));
    MILLRACE_CHECK(drawWeights(stage.m_trainer->runner().store(), *stage.m_trainer->runner().streams().copyIn, pool,
                               *stage.m_spec, 1));
    Random random(1, "rehearsal");
    stage.m_batch = {randomBatch(*stage.m_spec, shape, random)};
    return stage;
  }

  Result<Phases> step() {
    MILLRACE_TRY(const StepOutcome outcome, m_trainer->step({m_batch, m_batch, 1e-5}));
    m_trainer->applyPending();
    return Phases{outcome.forwardSeconds, outcome.backwardSeconds};
  }

 private:
  std::unique_ptr<ModelSpec> m_spec; ///< the trainer refers to it
  std::unique_ptr<Device> m_device;
  std::unique_ptr<Trainer> m_trainer;
  std::vector<MicroBatch> m_batch;
};

double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

} // namespace

Result<Rehearsal> rehearse(const DeviceOpener& open, ThreadPool& pool, const ModelSpec& spec, const RunShape& shape,
                           const RehearsalLimits& limits) {
  RunShape one = shape;
  one.microBatches = one.group = 1;
  one.devices = 1;
  one.updateSlots = 0;
  one.heldLayers = 0;
  one.offloadActivations = false;
  one.activationSlots = 0;
  ModelSpec model = spec;
  model.layers.resize(moreLayers, spec.layers.front());
  const std::vector<UnitHome> homes(moreLayers + 1, UnitHome::Device);
  const auto tooLarge = [&] {
    const MemoryPlan plan = layOutMemory(model, one, homes);
    // Both stages stand at one time; the second is a third of the first.
    return plan.total(MemoryTier::Device) + plan.total(MemoryTier::Host) > limits.bytes / 2 ||
           productFlops(stepProducts(model, one)) > limits.flops;
  };
  while (one.rows > 1 && tooLarge()) one.rows = (one.rows + 1) / 2;
  if (tooLarge())
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("a few layers of this model are too much to time here: {} may be taken",
                               formatBytes(limits.bytes)));
  MILLRACE_TRY(Stage few, Stage::create(open, pool, spec, one, fewLayers));
  MILLRACE_TRY(Stage more, Stage::create(open, pool, spec, one, moreLayers));
  std::vector<double> forwardFew, forwardMore, backwardFew, backwardMore;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    MILLRACE_TRY(const Phases a, few.step());
    MILLRACE_TRY(const Phases b, more.step());
    const auto passed = std::chrono::steady_clock::now() - start;
    if (passed >= warmUp) {
      forwardFew.push_back(a.forward);
      backwardFew.push_back(a.backward);
      forwardMore.push_back(b.forward);
      backwardMore.push_back(b.backward);
    }
    const std::size_t rounds = forwardFew.size();
    if (rounds >= mostRounds || (rounds >= fewestRounds && passed >= warmUp + timed)) break;
  }
  constexpr double between = moreLayers - fewLayers;
  Rehearsal rehearsal;
  rehearsal.rows = one.rows;
  rehearsal.forwardLayer = std::max(0.0, middle(forwardMore) - middle(forwardFew)) / between;
  rehearsal.backwardLayer = std::max(0.0, middle(backwardMore) - middle(backwardFew)) / between;
  rehearsal.forwardRest = std::max(0.0, middle(forwardFew) - fewLayers * rehearsal.forwardLayer);
  rehearsal.backwardRest = std::max(0.0, middle(backwardFew) - fewLayers * rehearsal.backwardLayer);
  return rehearsal;
}

StepWork withRehearsal(StepWork work, const Rehearsal& rehearsal, const ModelSpec& spec, const RunShape& shape) {
  const auto layers = static_cast<double>(spec.layers.size());
  const double times =
      static_cast<double>(shape.microBatches) * static_cast<double>(shape.rows) / static_cast<double>(rehearsal.rows);
  work.forward.computeSeconds = times * (layers * rehearsal.forwardLayer + rehearsal.forwardRest);
  work.backward.computeSeconds = times * (layers * rehearsal.backwardLayer + rehearsal.backwardRest);
  return work;
}

} // namespace millrace

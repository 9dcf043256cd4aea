#include "train/trainer.h"

#include "ops/ops.h"
#include "optim/clip.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>

namespace millrace {

/// Filled in by tasks on the compute stream.
struct Trainer::Timeline {
  using Clock = std::chrono::steady_clock;
  std::shared_ptr<std::vector<Clock::time_point>> marks = std::make_shared<std::vector<Clock::time_point>>();

  void mark(Stream& compute) {
    compute.hostTask([marks = marks] { marks->push_back(Clock::now()); });
  }
};

Result<std::unique_ptr<Trainer>> Trainer::create(Device& device, ThreadPool& pool, const ModelSpec& spec,
                                                 const MemoryPlan& plan, const TrainerOptions& options,
                                                 DiskTier* disk) {
  assert(plan.shape.training);
  MILLRACE_TRY(auto runner, ForwardRunner::create(device, pool, spec, plan, disk));
  return std::unique_ptr<Trainer>(new Trainer(device, pool, options, std::move(runner), disk));
}

Trainer::Trainer(Device& device, ThreadPool& pool, const TrainerOptions& options, std::unique_ptr<ForwardRunner> runner,
                 DiskTier* disk)
    : m_device(device),
      m_options(options),
      m_runner(std::move(runner)),
      m_gradients(m_runner->plan(), m_runner->memory(), m_runner->store(), m_runner->streams(),
                  m_runner->squaresScalars()),
      m_schedule(trainingSchedule(static_cast<std::int64_t>(m_runner->spec().layers.size()),
                                  m_runner->shape().microBatches, m_runner->shape().group, m_runner->shape().slots)),
      m_optimizer(std::make_unique<HostOptimizer>(pool, options.isa)) {
  const MemoryPlan& plan = m_runner->plan();
  if (plan.deviceUpdateShare > 0 && plan.find(allocation_name::updateSlot(0)))
    m_deviceUpdater = std::make_unique<DeviceUpdater>(device, plan, m_runner->memory());
  if (const auto buffers = m_runner->memory().buffers(&allocation_name::diskState); !buffers.empty())
    m_diskUpdater = std::make_unique<DiskUpdater>(*disk, pool, buffers, options.isa);
}

Trainer::~Trainer() = default;

Result<StepOutcome> Trainer::step(const StepInput& input, const std::function<bool()>& stop) {
  assert(static_cast<std::int64_t>(input.microBatches.size()) == m_runner->shape().microBatches);
  std::int64_t targets = 0;
  for (const MicroBatch& batch : input.microBatches)
    targets +=
        std::count_if(batch.targets.begin(), batch.targets.end(), [](std::int32_t target) { return target >= 0; });
  if (targets == 0)
    return badInput("a batch has no token to learn from: all targets are masked; check the data's format and masking");

  m_learningRate = input.learningRate;
  m_lossScale = static_cast<float>(1.0 / static_cast<double>(targets)); // by the whole batch, never by micro-batch
  m_landed.clear();
  m_updating = false;
  if (!updatedFirst(input.microBatches))
    m_runner->embedding().rowsReady(m_runner->store().ready(m_runner->embedding().tableBlock()));
  Timeline timeline;
  timeline.mark(*m_runner->streams().compute);
  bool finished = false;
  try {
    finished = run(input, stop, timeline);
  } catch (const EngineException& problem) {
    if (problem.error().kind != ErrorKind::BadInput) throw;
    m_runner->reset();
    return tl::unexpected<Error>(problem.error());
  }
  if (!finished) {
    m_runner->reset();
    return failure(ErrorKind::Interrupted,
                   "stopped between blocks; the step was given up and the state is as before it");
  }
  m_runner->fetchScalars().synchronize();
  m_embeddingLanded.synchronize();

  StepOutcome outcome;
  outcome.targets = targets;
  outcome.loss = m_runner->scalar(0) / static_cast<double>(targets);
  outcome.gradNorm = gradNorm();
  const auto seconds = [&](std::size_t from, std::size_t to) {
    return std::chrono::duration<double>((*timeline.marks)[to] - (*timeline.marks)[from]).count();
  };
  for (std::size_t i = 0; i + 2 < timeline.marks->size(); i += 2) {
    outcome.forwardSeconds += seconds(i, i + 1);
    outcome.backwardSeconds += seconds(i + 1, i + 2);
  }
  outcome.discarded = !std::isfinite(outcome.loss) || !std::isfinite(outcome.gradNorm);
  if (outcome.discarded && !m_updating) return outcome;
  if (m_runner->shape().clip != ClipMode::Off)
    outcome.clipFactor = clipDecision(outcome.gradNorm, m_options.maxGradNorm).factor;
  updateAll(input, outcome.clipFactor);
  ++m_updates;
  return outcome;
}

bool Trainer::run(const StepInput& input, const std::function<bool()>& stop, Timeline& timeline) {
  ForwardRunner& runner = *m_runner;
  std::vector<std::shared_ptr<const PreparedMicroBatch>> prepared;
  for (const MicroBatch& batch : input.microBatches) prepared.push_back(runner.prepare(batch));
  runner.streams().compute->zero(runner.lossScalar().data, runner.lossScalar().bytes());
  runner.embedding().beginGradients(prepared);

  for (const Action& action : m_schedule.actions) {
    const bool firstGroup = action.group == 0;
    const bool lastGroup = action.group + 1 == m_schedule.groups();
    const auto unit = static_cast<std::size_t>(action.unit);
    const bool head = action.unit == m_schedule.layers;
    if (action.kind == ActionKind::Acquire && stop && !m_updating && stop()) return false;
    switch (action.kind) {
    case ActionKind::LoadBatch:
      runner.loadBatch(std::span(prepared).subspan(static_cast<std::size_t>(action.group * m_schedule.group),
                                                   static_cast<std::size_t>(m_schedule.groupSize(action.group))));
      break;
    case ActionKind::Embed:
      runner.embed(action.microBatch);
      break;
    case ActionKind::BeginGradient:
      if (head) timeline.mark(*runner.streams().compute);
      m_accumulators = m_gradients.begin(unit, firstGroup);
      break;
    case ActionKind::Head:
      runHead(action);
      break;
    case ActionKind::Backward:
      runBackward(action);
      break;
    case ActionKind::Reduce:
      collect(m_gradients.finish(unit, lastGroup));
      break;
    case ActionKind::EmbedBackward: {
      const std::int64_t m = action.microBatch;
      const TensorView dX =
          runner.activation(runner.activations().acquire(m_schedule.layers, m, ActivationStore::Part::Input), m);
      runner.embedding().backward(runner.prepared(m), runner.batch(m), dX, runner.workspace());
      runner.activations().release(m_schedule.layers, m, ActivationStore::Written::Nothing);
      if (m + 1 == m_schedule.groupSize(action.group)) timeline.mark(*runner.streams().compute);
      break;
    }
    default:
      runner.execute(action);
    }
    if (!m_options.overlap) runner.streams().synchronize();
  }
  m_embeddingLanded = runner.embedding().finishGradients();
  return true;
}

void Trainer::runHead(const Action& action) {
  ForwardRunner& runner = *m_runner;
  const std::int64_t m = action.microBatch;
  const TensorView x = runner.activation(runner.activations().acquire(action.unit, m, ActivationStore::Part::Input), m);
  runner.headProgram().lossAndGradients(*runner.streams().compute, runner.headWeights(),
                                        {m_accumulators[0], m_accumulators[1]}, x, runner.batch(m).targets,
                                        runner.lossScalar(), m_lossScale, runner.workspace());
  runner.activations().release(action.unit, m, ActivationStore::Written::Input);
}

void Trainer::runBackward(const Action& action) {
  ForwardRunner& runner = *m_runner;
  ActivationStore& activations = runner.activations();
  const std::int64_t m = action.microBatch;
  std::byte* record = activations.acquire(action.unit, m, ActivationStore::Part::Whole);
  std::byte* carrier = activations.acquire(m_schedule.layers, m, ActivationStore::Part::Input);
  if (action.nextLevel >= 0) {
    activations.prefetch(action.nextLevel, action.nextMicroBatch, ActivationStore::Part::Whole);
    activations.prefetch(m_schedule.layers, action.nextMicroBatch, ActivationStore::Part::Input);
  }
  runner.layerProgram().backward(*runner.streams().compute, action.unit, runner.layerWeights(),
                                 {m_accumulators[0], m_accumulators[1]}, runner.sequence(m), record, runner.workspace(),
                                 runner.activation(carrier, m));
  activations.drop(action.unit, m);
  activations.release(m_schedule.layers, m, ActivationStore::Written::Input);
}

void Trainer::collect(std::vector<GradientStreamer::Landed> landed) {
  const std::vector<BlockSpec>& blocks = m_runner->store().blocks();
  for (GradientStreamer::Landed& block : landed) {
    if (blocks[block.block].kind == BlockKind::Embedding) continue; // complete when the input's rows have been added
    // With clipping off the gradients that the plan holds have planes of their own, as those that wait for a clip
    // factor.
    const bool waits =
        m_runner->shape().clip != ClipMode::Off ||
        (blocks[block.block].layer >= 0 && m_runner->store().plane(block.block, Plane::Gradient).valid());
    if (!waits) {
      m_updating = true;
      update(block, scalars(1.0));
    } else {
      m_landed.push_back(std::move(block));
    }
  }
}

double Trainer::gradNorm() const {
  const std::vector<BlockSpec>& blocks = m_runner->store().blocks();
  std::vector<double> squares;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const bool table = blocks[b].kind == BlockKind::Embedding || blocks[b].kind == BlockKind::Positions;
    const std::optional<double> onHost = table ? m_runner->embedding().squares(b) : std::nullopt;
    squares.push_back(onHost ? *onHost : m_runner->scalar(1 + b));
  }
  return gradientNorm(squares);
}

AdamWScalars Trainer::scalars(double clipFactor) const {
  return adamWScalars(m_options.adamW, m_learningRate, m_updates + 1, clipFactor);
}

void Trainer::update(const GradientStreamer::Landed& landed, const AdamWScalars& scalars) {
  TensorStore& store = m_runner->store();
  const auto rangesOf = [&](std::int64_t first, std::int64_t count) {
    std::vector<AdamWArgs> ranges = store.updateRanges(landed.block, landed.gradient, first, count);
    for (AdamWArgs& range : ranges) range.scalars = scalars;
    return ranges;
  };
  const std::int64_t elements = store.blocks()[landed.block].elements;
  if (store.diskRange(landed.block, Plane::Moment1)) {
    Event done = updateFromDisk(landed, rangesOf(0, elements));
    if (m_runner->shape().clip == ClipMode::Off) m_gradients.landingBusyUntil(landed, done);
    store.advance(landed.block, std::move(done));
    return;
  }
  if (store.onDevice(landed.block)) {
    for (const AdamWArgs& range : rangesOf(0, elements)) ops::adamW(*m_runner->streams().compute, range);
    store.advance(landed.block, Event());
    return;
  }
  const std::int64_t there = updatedOnDevice(landed.block);
  const HostSignal here = m_device.createHostSignal();
  m_optimizer->submit({landed.event, rangesOf(0, elements - there), here});
  Event done = here.event();
  if (there > 0)
    done = m_deviceUpdater->join(done, m_deviceUpdater->update(landed.event, rangesOf(elements - there, there)));
  if (m_runner->shape().clip == ClipMode::Off) m_gradients.landingBusyUntil(landed, done);
  store.advance(landed.block, std::move(done));
}

Event Trainer::updateFromDisk(const GradientStreamer::Landed& landed, std::vector<AdamWArgs> ranges) {
  const TensorStore& store = m_runner->store();
  DiskUpdate update{landed.event, std::move(ranges), {}, m_device.createHostSignal()};
  const bool split = m_runner->shape().precision == Precision::Bf16;
  const std::pair<Plane, TensorView AdamWArgs::*> operands[] = {
      {Plane::Weights, split ? &AdamWArgs::hi : &AdamWArgs::weight},
      {Plane::Remainder, &AdamWArgs::lo},
      {Plane::Moment1, &AdamWArgs::m},
      {Plane::Moment2, &AdamWArgs::v},
      {Plane::Gradient, &AdamWArgs::gradient}};
  for (const auto& [plane, operand] : operands)
    if (const auto range = store.diskRange(landed.block, plane)) update.onDisk.push_back({operand, *range});
  Event done = update.done.event();
  m_diskUpdater->submit(std::move(update));
  return done;
}

std::int64_t Trainer::updatedOnDevice(std::size_t block) const {
  const BlockSpec& spec = m_runner->store().blocks()[block];
  if (!m_deviceUpdater || spec.kind == BlockKind::Embedding || spec.kind == BlockKind::Positions) return 0;
  const double share = m_runner->plan().deviceUpdateShare * static_cast<double>(spec.elements);
  // The host's part ends where its vectors do.
  return std::min(spec.elements, static_cast<std::int64_t>(share) / groupAlignment * groupAlignment);
}

namespace {
BusUse useOf(const StreamUse& in, const StreamUse& out) {
  return {in.copiedBytes, out.copiedBytes, in.copySeconds, out.copySeconds};
}
} // namespace

double Trainer::optimizerSeconds() const {
  return m_optimizer->busySeconds() + (m_diskUpdater ? m_diskUpdater->busySeconds() : 0);
}

BusUse Trainer::busUse() const {
  const Streams& streams = m_runner->streams();
  BusUse use = useOf(streams.copyIn->use(), streams.copyOut->use()) + updatesBusUse();
  for (const DiskStream* disk : {streams.diskWeights.get(), streams.diskGradients.get()})
    if (disk) use = use + useOf(disk->in().use(), disk->out().use());
  return use;
}

BusUse Trainer::updatesBusUse() const {
  return m_deviceUpdater ? useOf(m_deviceUpdater->useIn(), m_deviceUpdater->useOut()) : BusUse();
}

bool Trainer::updatedFirst(std::span<const MicroBatch> batches) const {
  if (m_rowsFirst.empty()) return true; // no update yet: the table is as it was loaded
  return std::all_of(batches.begin(), batches.end(), [&](const MicroBatch& batch) {
    return std::all_of(batch.tokens.begin(), batch.tokens.end(), [&](std::int32_t token) {
      return token >= 0 && static_cast<std::size_t>(token) < m_rowsFirst.size() &&
             m_rowsFirst[static_cast<std::size_t>(token)];
    });
  });
}

void Trainer::updateDeviceTables(const AdamWScalars& scalars) {
  const EmbeddingProgram& embedding = m_runner->embedding();
  const auto table = [&](std::size_t block) {
    update({block, embedding.gradient(block), m_embeddingLanded, -1}, scalars);
  };
  for (const GradientStreamer::Landed& block : m_landed) update(block, scalars);
  table(embedding.tableBlock());
  if (embedding.positionBlock()) table(*embedding.positionBlock());
}

void Trainer::updateHostTables(const StepInput& input, const AdamWScalars& scalars) {
  ForwardRunner& runner = *m_runner;
  TensorStore& store = runner.store();
  const std::size_t table = runner.embedding().tableBlock();
  const std::int64_t hidden = runner.spec().hidden;
  const TensorView gradient = store.plane(table, Plane::Gradient);
  // The table is one parameter: its rows differ in where they are alone.
  std::vector<AdamWArgs> ofTable = store.updateRanges(table, gradient, 0, gradient.shape[0]);
  assert(ofTable.size() == 1);
  ofTable.front().scalars = scalars;
  std::vector<bool>& first = m_rowsFirst;
  first.assign(static_cast<std::size_t>(runner.spec().vocabulary), false);
  for (const MicroBatch& batch : input.next)
    for (const std::int32_t token : batch.tokens)
      if (token >= 0 && token < runner.spec().vocabulary) first[static_cast<std::size_t>(token)] = true;

  // Runs of rows that are wanted at once, and of those that follow under compute.
  std::vector<AdamWArgs> now, later;
  for (std::int64_t row = 0; row < runner.spec().vocabulary;) {
    const bool wanted = first[static_cast<std::size_t>(row)];
    std::int64_t end = row + 1;
    while (end < runner.spec().vocabulary && first[static_cast<std::size_t>(end)] == wanted) ++end;
    const bool last = end == runner.spec().vocabulary;
    const std::int64_t elements = last ? gradient.shape[0] - row * hidden : (end - row) * hidden;
    (wanted ? now : later).push_back(ops::rangeOf(ofTable.front(), row * hidden, elements));
    row = end;
  }
  const HostSignal rows = m_device.createHostSignal();
  m_optimizer->submit({m_embeddingLanded, std::move(now), rows});
  if (const auto positions = runner.embedding().positionBlock())
    update({*positions, store.plane(*positions, Plane::Gradient), m_embeddingLanded, -1}, scalars);
  runner.embedding().rowsReady(rows.event());

  const std::vector<BlockSpec>& blocks = store.blocks();
  std::vector<GradientStreamer::Landed> head; // it may share the table, and comes last
  for (const GradientStreamer::Landed& block : m_landed) {
    if (blocks[block.block].layer >= 0)
      update(block, scalars);
    else
      head.push_back(block);
  }
  const HostSignal whole = m_device.createHostSignal();
  m_optimizer->submit({Event(), std::move(later), whole});
  store.advance(table, whole.event());
  for (const GradientStreamer::Landed& block : head) update(block, scalars);
}

void Trainer::updateAll(const StepInput& input, double clipFactor) {
  // Units in the order in which forward needs them.
  std::stable_sort(m_landed.begin(), m_landed.end(), [](const auto& a, const auto& b) { return a.block < b.block; });
  if (m_runner->store().onDevice(m_runner->embedding().tableBlock()))
    updateDeviceTables(scalars(clipFactor));
  else
    updateHostTables(input, scalars(clipFactor));
  m_landed.clear();
}

void Trainer::applyPending() {
  TensorStore& store = m_runner->store();
  for (std::size_t block = 0; block < store.blocks().size(); ++block) store.ready(block).synchronize();
  m_runner->streams().compute->synchronize();
}

std::vector<float> Trainer::gradient(std::size_t block) {
  const TensorView plane = m_runner->store().plane(block, Plane::Gradient);
  assert(plane.valid() && plane.dtype == DType::F32);
  return {plane.as<float>(), plane.as<float>() + plane.shape[0]};
}

} // namespace millrace

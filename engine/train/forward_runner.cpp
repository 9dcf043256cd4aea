#include "train/forward_runner.h"

#include "model/rope_table.h"
#include "ops/ops.h"

#include <cassert>
#include <cstring>
#include <numeric>

namespace millrace {

namespace {
/// Units of work that may be submitted ahead of the device: enough that it never starves, few enough that a stop is
/// quick.
constexpr std::size_t runAhead = 4;
} // namespace

Result<std::unique_ptr<ForwardRunner>> ForwardRunner::create(Device& device, ThreadPool& pool, const ModelSpec& spec,
                                                             const MemoryPlan& plan, DiskTier* disk) {
  MILLRACE_CHECK(checkPositions(spec, std::max(plan.shape.context, plan.shape.cacheTokens)));
  MILLRACE_TRY(PlannedMemory memory, PlannedMemory::allocate(device, plan));
  return std::unique_ptr<ForwardRunner>(new ForwardRunner(device, pool, spec, plan, std::move(memory), disk));
}

namespace {
/// The buffers that the disk's transfers go through.
std::vector<std::span<std::byte>> diskBuffers(const PlannedMemory& memory) {
  namespace name = allocation_name;
  std::vector<std::span<std::byte>> all;
  for (const auto naming : {&name::diskWeights, &name::diskGradients, &name::diskState}) {
    const std::vector<std::span<std::byte>> buffers = memory.buffers(naming);
    all.insert(all.end(), buffers.begin(), buffers.end());
  }
  return all;
}
} // namespace

ForwardRunner::ForwardRunner(Device& device, ThreadPool& pool, const ModelSpec& spec, const MemoryPlan& plan,
                             PlannedMemory memory, DiskTier* disk)
    : m_spec(spec),
      m_plan(plan),
      m_memory(std::move(memory)),
      m_batchLayout(spec, plan.shape),
      m_streams(device, m_memory, disk),
      m_store(std::make_unique<TensorStore>(spec, plan, m_memory, disk)),
      m_layers(std::make_unique<LayerStreamer>(plan, m_memory, *m_store, m_streams)),
      m_activations(std::make_unique<ActivationStore>(spec, plan, m_memory, m_streams)),
      m_scalars(m_memory.data(allocation_name::scalars), DType::F64,
                Shape{1 + static_cast<std::int64_t>(m_store->blocks().size())}),
      m_embedding(makeEmbeddingProgram(spec, plan, m_memory, *m_store, m_streams, pool, squaresScalars())),
      m_layerProgram(spec, plan.shape),
      m_headProgram(spec, plan.shape),
      m_forwardSchedule(forwardSchedule(static_cast<std::int64_t>(spec.layers.size()), plan.shape.slots)),
      m_workspace(m_memory.data(allocation_name::workspace)),
      m_deviceBatch(m_memory.data(allocation_name::batch)) {
  if (disk) disk->registerMemory(diskBuffers(m_memory));
  if (!spec.rope) return;
  const std::int64_t positions = std::max(plan.shape.context, plan.shape.cacheTokens);
  const std::vector<float> table =
      ropeTable(*spec.rope, spec.attention.headDim, positions, spec.maxPositions, positions);
  m_rope = TensorView(m_memory.data(allocation_name::rope), DType::F32,
                      Shape{positions, rotaryDim(*spec.rope, spec.attention.headDim)});
  m_streams.copyIn->copy(m_rope.data, table.data(), m_rope.bytes());
  m_streams.copyIn->synchronize();
}

std::shared_ptr<const PreparedMicroBatch> ForwardRunner::prepare(const MicroBatch& batch) const {
  return prepareMicroBatch(m_spec, shape(), m_batchLayout, batch);
}

void ForwardRunner::loadBatch(std::span<const std::shared_ptr<const PreparedMicroBatch>> group) {
  assert(static_cast<std::int64_t>(group.size()) <= shape().group);
  m_group.assign(group.begin(), group.end());
  m_views.clear();
  Stream& copyIn = *m_streams.copyIn;
  std::byte* staged = m_memory.data(allocation_name::stagedBatch);
  copyIn.hostTask([batches = m_group, staged, bytes = m_batchLayout.bytes] {
    std::byte* to = staged;
    for (const auto& batch : batches) {
      std::memcpy(to, batch->staged.data(), static_cast<std::size_t>(bytes));
      to += bytes;
    }
  });
  copyIn.wait(m_streams.compute->record(), Stall::Order); // the batch before is no longer read
  copyIn.copy(m_deviceBatch, staged, static_cast<Bytes>(m_group.size()) * m_batchLayout.bytes);
  m_streams.compute->wait(copyIn.record(), Stall::Data);
  for (std::size_t m = 0; m < m_group.size(); ++m)
    m_views.emplace_back(m_batchLayout, *m_group[m], m_deviceBatch + static_cast<Bytes>(m) * m_batchLayout.bytes,
                         shape().training, m_spec.learnedPositions);
}

SequenceViews ForwardRunner::sequence(std::int64_t microBatch) const {
  const PreparedMicroBatch& prepared = *m_group[static_cast<std::size_t>(microBatch)];
  return {prepared.rows, prepared.context, batch(microBatch).positions, batch(microBatch).documentStart, m_rope};
}

TensorView ForwardRunner::activation(std::byte* record, std::int64_t microBatch) const {
  const PreparedMicroBatch& prepared = *m_group[static_cast<std::size_t>(microBatch)];
  return m_layerProgram.layout().view(LayerTensor::Input, LayerLayout::Pass::Forward, record, nullptr, prepared.rows,
                                      prepared.context);
}

void ForwardRunner::embed(std::int64_t microBatch) {
  std::byte* record = m_activations->create(0, microBatch);
  m_embedding->lookUp(prepared(microBatch), batch(microBatch), activation(record, microBatch));
  m_activations->release(0, microBatch, ActivationStore::Written::Input);
}

void ForwardRunner::execute(const Action& action) {
  switch (action.kind) {
  case ActionKind::Prefetch:
    m_layers->prefetch(static_cast<std::size_t>(action.unit));
    break;
  case ActionKind::Acquire:
    boundRunAhead();
    m_lease.emplace(m_layers->acquire(static_cast<std::size_t>(action.unit)));
    break;
  case ActionKind::Release:
    m_lease.reset();
    m_submitted.push_back(m_streams.compute->record());
    break;
  case ActionKind::Forward: {
    const std::int64_t level = action.unit;
    const std::int64_t m = action.microBatch;
    std::byte* in = m_activations->acquire(level, m, ActivationStore::Part::Input);
    std::byte* out = m_activations->create(level + 1, m);
    if (action.nextLevel >= 0)
      m_activations->prefetch(action.nextLevel, action.nextMicroBatch, ActivationStore::Part::Input);
    m_layerProgram.forward(*m_streams.compute, level, layerWeights(), sequence(m), in, m_workspace, activation(out, m));
    m_activations->release(level, m, ActivationStore::Written::Rest);
    m_activations->release(level + 1, m, ActivationStore::Written::Input);
    break;
  }
  default:
    assert(false && "not a forward action");
  }
}

Event ForwardRunner::fetchScalars() {
  Stream& copyOut = *m_streams.copyOut;
  copyOut.wait(m_streams.compute->record(), Stall::Order);
  copyOut.copy(m_memory.data(allocation_name::stagedScalars), m_scalars.data, m_scalars.bytes());
  return copyOut.record();
}

double ForwardRunner::scalar(std::size_t index) const {
  double value = 0;
  std::memcpy(&value, m_memory.data(allocation_name::stagedScalars) + index * sizeof value, sizeof value);
  return value;
}

void ForwardRunner::boundRunAhead() {
  while (m_submitted.size() > runAhead) {
    m_submitted.front().synchronize();
    m_submitted.pop_front();
  }
}

void ForwardRunner::reset() {
  m_lease.reset();
  m_submitted.clear();
  m_streams.synchronize();
  m_activations = std::make_unique<ActivationStore>(m_spec, m_plan, m_memory, m_streams);
}

void ForwardRunner::runForward(const MicroBatch& microBatch, const std::function<void(const TensorView& x)>& head) {
  const auto ready = prepare(microBatch);
  for (const Action& action : m_forwardSchedule.actions) {
    switch (action.kind) {
    case ActionKind::LoadBatch:
      loadBatch(std::span(&ready, 1));
      break;
    case ActionKind::Embed:
      embed(0);
      break;
    case ActionKind::Head:
      head(activation(m_activations->acquire(action.unit, 0, ActivationStore::Part::Input), 0));
      m_activations->release(action.unit, 0, ActivationStore::Written::Nothing);
      break;
    default:
      execute(action);
    }
  }
}

std::vector<float> ForwardRunner::fetchWorkspace(Bytes offset, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  Stream& copyOut = *m_streams.copyOut;
  copyOut.wait(m_streams.compute->record(), Stall::Order);
  copyOut.copy(values.data(), m_workspace + offset, static_cast<Bytes>(values.size() * sizeof(float)));
  copyOut.synchronize();
  return values;
}

ForwardRunner::Loss ForwardRunner::loss(const MicroBatch& microBatch) {
  m_streams.compute->zero(lossScalar().data, lossScalar().bytes());
  runForward(microBatch, [this](const TensorView& x) {
    m_headProgram.loss(*m_streams.compute, headWeights(), x, batch(0).targets, lossScalar(), m_workspace);
  });
  fetchScalars().synchronize();
  return {scalar(0), m_group[0]->targets};
}

std::vector<float> ForwardRunner::targetLosses(const MicroBatch& microBatch) {
  const HeadLayout layout(m_spec, shape());
  std::vector<float> all;
  m_streams.compute->zero(lossScalar().data, lossScalar().bytes());
  runForward(microBatch, [&](const TensorView& x) {
    for (std::int64_t begin = 0; begin < x.shape[0]; begin += layout.chunk) {
      const std::int64_t n = std::min(layout.chunk, x.shape[0] - begin);
      m_headProgram.loss(*m_streams.compute, headWeights(), x.rows(begin, n), batch(0).targets.rows(begin, n),
                         lossScalar(), m_workspace);
      const std::vector<float> losses = fetchWorkspace(layout.loss, n);
      all.insert(all.end(), losses.begin(), losses.end());
    }
  });
  return all;
}

std::vector<float> ForwardRunner::allLogits(const MicroBatch& microBatch) {
  std::vector<float> all;
  runForward(microBatch, [&](const TensorView& x) {
    const std::int64_t chunk = HeadLayout(m_spec, shape()).chunk;
    for (std::int64_t begin = 0; begin < x.shape[0]; begin += chunk) {
      const std::int64_t n = std::min(chunk, x.shape[0] - begin);
      m_headProgram.logits(*m_streams.compute, headWeights(), x.rows(begin, n), m_workspace);
      const std::vector<float> logits = fetchWorkspace(HeadLayout(m_spec, shape()).logits, n * m_spec.vocabulary);
      all.insert(all.end(), logits.begin(), logits.end());
    }
  });
  return all;
}

namespace {
/// One row of tokens at positions first, first + 1, ...: one document, nothing to learn from.
MicroBatch continuation(std::span<const std::int32_t> tokens, std::int64_t first) {
  MicroBatch batch;
  batch.rows = 1;
  batch.context = static_cast<std::int64_t>(tokens.size());
  batch.tokens.assign(tokens.begin(), tokens.end());
  batch.targets.assign(tokens.size(), -1);
  batch.positions.resize(tokens.size());
  std::iota(batch.positions.begin(), batch.positions.end(), static_cast<std::int32_t>(first));
  batch.documentStart.assign(tokens.size(), 0);
  return batch;
}
} // namespace

std::vector<float> ForwardRunner::nextLogits(std::span<const std::int32_t> tokens) {
  runForward(continuation(tokens, 0), [this](const TensorView& x) {
    m_headProgram.logits(*m_streams.compute, headWeights(), x.rows(x.shape[0] - 1, 1), m_workspace);
  });
  return fetchWorkspace(HeadLayout(m_spec, shape()).logits, m_spec.vocabulary);
}

std::vector<float> ForwardRunner::nextLogitsCached(std::span<const std::int32_t> tokens, std::int64_t cached) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  assert(count > 0 && cached + count <= shape().cacheTokens);
  const auto ready = prepare(continuation(tokens, cached));
  const std::int64_t width = 2 * m_spec.attention.kvHeads * m_spec.attention.headDim;
  const Bytes cacheBytes =
      alignUp(shape().rows * shape().cacheTokens * width * bytesPerElement(shape().activationType()));
  std::byte* caches = m_memory.data(allocation_name::keyValueCache);
  for (const Action& action : m_forwardSchedule.actions) {
    switch (action.kind) {
    case ActionKind::LoadBatch:
      loadBatch(std::span(&ready, 1));
      break;
    case ActionKind::Embed:
      embed(0);
      break;
    case ActionKind::Forward: {
      const TensorView cache(caches + action.unit * cacheBytes, shape().activationType(),
                             Shape{1, shape().cacheTokens, width});
      SequenceViews views = sequence(0);
      views.documentStart = {};
      std::byte* in = m_activations->acquire(action.unit, 0, ActivationStore::Part::Input);
      std::byte* out = m_activations->create(action.unit + 1, 0);
      m_layerProgram.forwardCached(*m_streams.compute, action.unit, layerWeights(), views, cache, cached, in,
                                   m_workspace, activation(out, 0));
      m_activations->release(action.unit, 0, ActivationStore::Written::Nothing);
      m_activations->release(action.unit + 1, 0, ActivationStore::Written::Input);
      break;
    }
    case ActionKind::Head: {
      const TensorView x = activation(m_activations->acquire(action.unit, 0, ActivationStore::Part::Input), 0);
      m_headProgram.logits(*m_streams.compute, headWeights(), x.rows(count - 1, 1), m_workspace);
      m_activations->release(action.unit, 0, ActivationStore::Written::Nothing);
      break;
    }
    default:
      execute(action);
    }
  }
  return fetchWorkspace(HeadLayout(m_spec, shape()).logits, m_spec.vocabulary);
}

} // namespace millrace

#include "plan/step_work.h"

#include "engine/rates.h"
#include "plan/matrix_products.h"

#include <algorithm>
#include <cmath>

namespace millrace {

namespace {

/// Multiplications and additions of the layers' and the head's products, forward and backward apart.
void countProducts(const ModelSpec& spec, const RunShape& shape, StepWork& work) {
  RunShape once = shape;
  once.training = false;
  const double all = productFlops(stepProducts(spec, shape));
  const double head = 2.0 * static_cast<double>(spec.vocabulary) * static_cast<double>(spec.hidden) * work.tokens;
  work.forward.products = productFlops(stepProducts(spec, once)) - head;
  work.headProducts = 3 * head;
  work.backward.products = all - work.forward.products;
}

/// Forward multiplies by keys and by values; backward five times as much once, and what it computes again.
void countAttention(const ModelSpec& spec, const RunShape& shape, StepWork& work) {
  const auto width = static_cast<double>(spec.attention.heads * spec.attention.headDim);
  for (const LayerSpec& layer : spec.layers) {
    const double product = 2 * width * averageKeys(shape.context, layer.window) * work.tokens;
    work.forward.attention += 2 * product;
    work.backward.attention += (shape.recompute == Recompute::Full ? 7 : 5) * product;
  }
}

/// Reads and writes of norms, rotation, activation and residual, which no product does on the way.
void countDeviceBytes(const ModelSpec& spec, const RunShape& shape, StepWork& work) {
  const auto hidden = static_cast<double>(spec.hidden);
  const auto heads = static_cast<double>((spec.attention.heads + spec.attention.kvHeads) * spec.attention.headDim);
  const auto chosen = static_cast<double>(spec.experts.chosen);
  const double inner = static_cast<double>(spec.mlp.inner) * std::max(chosen, 1.0);
  const double up = spec.mlp.gated ? 2 * inner : inner;
  const auto element = static_cast<double>(shape.weightBytes());
  const double layers = static_cast<double>(spec.layers.size()) * work.tokens * element;
  // Two norms, before or behind, of which those behind also read the residual; q and k rotated in place, and normed
  // where the architecture has it; gate and up to inner.
  const bool qkNorms = spec.attention.qkNorm != QkNorm::None;
  const double norms = (spec.preNorms ? 4 * hidden : 0) + (spec.postNorms ? 6 * hidden : 0);
  const double normGradients = (spec.preNorms ? 8 * hidden : 0) + (spec.postNorms ? 6 * hidden : 0);
  // Rows go to the experts and come together again; backward also weighs what the activations made, both ways.
  const double rows = chosen > 0 ? 3 * chosen * hidden + 2 * hidden : 0;
  const double weighed = chosen > 0 ? 4 * inner : 0;
  const double forward = norms + (qkNorms ? 4 : 2) * heads + up + inner + rows;
  const double backward = normGradients + (qkNorms ? 6 : 2) * heads + 2 * up + inner + rows + weighed;
  const bool again = shape.recompute != Recompute::None;
  work.forward.deviceBytes = layers * forward;
  work.backward.deviceBytes = layers * (backward + (again ? forward : 0));
  // Cross-entropy reads fp32 logits twice and writes their gradients in place, after they have been capped in place.
  const double softcap = spec.logitSoftcap > 0 ? 2 : 0;
  work.backward.deviceBytes += work.tokens * 4 * (3 + softcap) * static_cast<double>(spec.vocabulary);
}

/// Records leave in forward and come back in backward. The gradient of the activations travels in a record of its own,
/// which leaves once when all is done. Where a group has more records in use than there are slots, that record gives
/// way between visits, and a layer's input has gone before its forward comes.
void countOffloading(const MemoryLayout& layout, double groups, StepWork& work) {
  const RunShape& shape = layout.shape();
  const auto microBatches = static_cast<double>(shape.microBatches);
  const double visits = static_cast<double>(layout.spec().layers.size()) * microBatches;
  const auto input = static_cast<double>(layout.layer().inputBytes());
  const auto record = static_cast<double>(layout.layer().recordBytes());
  const std::int64_t spare = shape.activationSlots - shape.group;
  work.forward.out += visits * record;
  if (spare >= 2) { // where forward turns to backward the slots hold the last records
    work.backward.in += std::max(0.0, visits - groups * static_cast<double>(spare)) * record;
    work.backward.out += microBatches * input;
    return;
  }
  work.backward.in += visits * record;
  if (shape.group > 2) work.forward.in += visits * input;
  // From the last layer's output on: written by forward, by the head and by every layer; read by these and the
  // embedding. Less what the slots still held.
  const double held = groups * static_cast<double>(std::max<std::int64_t>(0, spare + 1));
  work.backward.in += (visits + 2 * microBatches - 3 * held) * input;
  work.backward.out += (visits + 2 * microBatches - 1.5 * held) * input;
}

} // namespace

double averageKeys(std::int64_t context, std::int64_t window) {
  const auto n = static_cast<double>(context);
  const double w = window > 0 ? std::min(static_cast<double>(window), n) : n;
  return w - (w * w - w) / (2 * n); // the first w queries have fewer
}

StepCount::StepCount(const MemoryLayout& layout) : m_layout(layout) {
  const RunShape& shape = layout.shape();
  const ModelSpec& spec = layout.spec();
  m_groups = std::ceil(static_cast<double>(shape.microBatches) / static_cast<double>(shape.group));
  const auto microBatches = static_cast<double>(shape.microBatches);
  m_base.tokens = static_cast<double>(shape.tokens()) * microBatches;
  m_base.groups = m_groups;
  m_base.units = static_cast<double>(layout.units().size());
  m_base.updatesInForward = shape.clip != ClipMode::Off;
  countProducts(spec, shape, m_base);
  countAttention(spec, shape, m_base);
  countDeviceBytes(spec, shape, m_base);

  m_base.forward.in += microBatches * static_cast<double>(layout.batch().bytes);
  if (shape.offloadActivations) countOffloading(layout, m_groups, m_base);
  const auto weights = static_cast<double>(shape.weightBytes());
  const auto state = static_cast<double>(layout.updateBytes());
  // The weights come for the update, and when it has taken them home they come again for forward.
  m_base.updateBytesIn = state + weights + static_cast<double>(layout.waitingBytes(BlockKind::Mlp));
  m_base.updateBytesOut = state + weights;
}

/// So many units with this home; without what streamed layers bring in.
void StepCount::addUnits(StepWork& work, const StreamUnit& unit, UnitHome home, double count) const {
  const auto weights = static_cast<double>(m_layout.shape().weightBytes());
  const auto state = static_cast<double>(m_layout.updateBytes());
  const double elements = count * static_cast<double>(unit.elements);
  // A tied matrix counts with the tables: it is updated there, whatever its head's home.
  double updated = 0, leaves = 0, waiting = 0;
  for (const std::size_t b : unit.blocks) {
    const BlockSpec& block = m_layout.blocks()[b];
    const double ofBlock = count * static_cast<double>(block.elements);
    const auto bytes = static_cast<double>(m_layout.waitingBytes(block.kind));
    leaves += ofBlock * (bytes == 2 ? 2 : 4);
    if (block.kind == BlockKind::Embedding) continue;
    updated += ofBlock;
    waiting += ofBlock * bytes;
  }
  if (home == UnitHome::Device) {
    work.deviceUpdates += updated;
    return;
  }
  if (unit.isHead() || home == UnitHome::WeightsOnDevice) // in a place of its own on the device
    (unit.isHead() ? work.backward : work.forward).in += elements * weights;
  // Sums of all groups but the last leave in fp32 and come back.
  work.backward.out += leaves + (m_groups - 1) * elements * 4;
  work.backward.in += (m_groups - 1) * elements * 4;

  (onDisk(home) ? work.diskUpdates : work.hostUpdates) += updated;
  if (!onDisk(home)) return;
  PhaseWork& update = work.updatesInForward ? work.forward : work.backward;
  update.diskRead += updated * state;
  update.diskWrite += updated * state;
  if (home != UnitHome::Disk) return;
  update.diskRead += updated * weights + waiting;
  update.diskWrite += updated * weights;
  work.backward.diskWrite += waiting + (m_groups - 1) * updated * 4;
  work.backward.diskRead += (m_groups - 1) * updated * 4;
  // The head has its place on the device, which it keeps from group to group.
  work.backward.diskRead += (unit.isHead() ? 1 : m_groups) * updated * weights;
  if (!unit.isHead()) work.forward.diskRead += m_groups * updated * weights;
}

/// Embedding rows and their gradients on their way, and the tables' updates.
void StepCount::addTables(StepWork& work, UnitHome head) const {
  const RunShape& shape = m_layout.shape();
  const ModelSpec& spec = m_layout.spec();
  double updated = 0;
  for (const BlockSpec& block : m_layout.blocks())
    if (block.kind == BlockKind::Embedding || block.kind == BlockKind::Positions)
      updated += static_cast<double>(block.elements);
  if (tablesHome(head) == UnitHome::Device) {
    work.deviceUpdates += updated;
    if (spec.tiedEmbeddings) work.forward.in += 4 * static_cast<double>(embeddingRowsOfStep(spec, shape));
    return;
  }
  work.tableUpdates += updated;
  work.hostUpdates += updated;
  // Of uniform tokens so many are different.
  const auto vocabulary = static_cast<double>(spec.vocabulary);
  const double rows = vocabulary * (1 - std::exp(-static_cast<double>(shape.tokens()) / vocabulary));
  const double rowsOfStep = vocabulary * (1 - std::exp(-work.tokens / vocabulary));
  constexpr double normed = 4, added = 12, gathered = 4; // bytes an element
  work.tableTurn = normed * updated + rowsOfStep * static_cast<double>(spec.hidden) * (adamWTraffic + added + gathered);
  if (!spec.tiedEmbeddings) work.besideHead = updated;
  const double positions = spec.learnedPositions ? static_cast<double>(shape.context) : 0;
  const double elements =
      (rows + positions) * static_cast<double>(spec.hidden) * static_cast<double>(shape.microBatches);
  work.forward.in += elements * static_cast<double>(shape.weightBytes());
  work.backward.out += elements * 4;
}

StepWork StepCount::work(const HomeCounts& counts, double batches) const {
  StepWork work = m_base;
  addTables(work, counts.head);
  work.tokens *= batches;
  work.headProducts *= batches;
  for (PhaseWork* phase : {&work.forward, &work.backward})
    for (double* amount : {&phase->products, &phase->attention, &phase->deviceBytes, &phase->in, &phase->out})
      *amount *= batches;
  for (std::size_t home = 0; home < unitHomes; ++home)
    if (counts.layers[home] > 0)
      addUnits(work, m_layout.units().front(), static_cast<UnitHome>(home), static_cast<double>(counts.layers[home]));
  addUnits(work, m_layout.units().back(), counts.head, 1);
  work.heldUpdates = static_cast<double>(counts.held * m_layout.units().front().elements);
  work.backward.out += static_cast<double>((1 + m_layout.blocks().size()) * 8); // the loss and sums of squares
  // Where forward turns to backward, and a group to the next, the slots hold the last layers already.
  const auto streamed = static_cast<double>(counts.streamed());
  if (streamed > 0) {
    const double bytes = static_cast<double>(m_layout.units().front().elements * m_layout.shape().weightBytes());
    const double comes = bytes * (streamed - std::min(static_cast<double>(m_layout.shape().slots), streamed));
    work.forward.in += bytes * streamed + comes * (m_groups - 1);
    work.backward.in += comes * m_groups;
  }
  return work;
}

} // namespace millrace

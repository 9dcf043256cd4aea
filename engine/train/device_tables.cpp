#include "train/device_tables.h"

#include "ops/ops.h"

#include <cstring>

namespace millrace {

DeviceTables::DeviceTables(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory,
                           const TensorStore& store, Streams& streams, const TensorView& squares)
    : EmbeddingProgram(spec, plan.shape, store),
      m_spec(spec),
      m_gradientLayout(spec, plan.shape),
      m_store(store),
      m_streams(streams),
      m_squares(squares) {
  if (!plan.shape.training || !spec.tiedEmbeddings) return;
  const std::vector<StreamUnit> units = unitsOf(store.blocks());
  const StreamUnit& head = units.back();
  for (std::size_t i = 0; i < head.blocks.size(); ++i)
    if (head.blocks[i] == tableBlock()) {
      const auto unit = static_cast<std::int64_t>(units.size()) - 1;
      m_headGradient = TensorView(memory.data(allocation_name::residentGradients(unit)) + head.offsets[i] * 4,
                                  DType::F32, Shape{store.blocks()[tableBlock()].elements});
    }
  m_inputSums = memory.data(allocation_name::inputEmbeddingGradients);
  m_stepRows = memory.data(allocation_name::stepRows);
  m_stagedStepRows = memory.data(allocation_name::stagedStepRows);
}

TensorView DeviceTables::gradient(std::size_t block) const {
  return block == tableBlock() && m_headGradient.valid() ? m_headGradient : m_store.plane(block, Plane::Gradient);
}

namespace {
/// A block's elements as rows; what pads the block is left out.
TensorView asRows(const TensorView& elements, std::int64_t rows, std::int64_t hidden) {
  return TensorView(elements.data, elements.dtype, Shape{rows, hidden});
}
} // namespace

TensorView DeviceTables::table(std::size_t block, Plane plane) const {
  const std::int64_t rows = block == tableBlock() ? m_spec.vocabulary : m_spec.maxPositions;
  return asRows(plane == Plane::Gradient ? gradient(block) : m_store.plane(block, plane), rows, m_spec.hidden);
}

void DeviceTables::lookUp(const std::shared_ptr<const PreparedMicroBatch>&, const BatchViews& views,
                          const TensorView& x) {
  Stream& compute = *m_streams.compute;
  EmbeddingArgs args;
  compute.wait(m_store.ready(tableBlock()), Stall::Optimizer);
  args.table = table(tableBlock(), Plane::Weights);
  args.ids = views.tokens;
  args.x = x;
  args.scale = scale();
  if (positionBlock()) {
    compute.wait(m_store.ready(*positionBlock()), Stall::Optimizer);
    args.positionTable = table(*positionBlock(), Plane::Weights);
    args.positionIds = views.positions;
  }
  ops::embedding(compute, args);
}

void DeviceTables::beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) {
  Stream& compute = *m_streams.compute;
  if (positionBlock()) {
    const TensorView sums = gradient(*positionBlock());
    compute.zero(sums.data, sums.bytes());
  }
  if (!m_inputSums) {
    const TensorView sums = gradient(tableBlock());
    compute.zero(sums.data, sums.bytes());
    return;
  }
  std::vector<std::int32_t> rows = rowsOfStep(batch);
  m_rowsOfStep = static_cast<std::int64_t>(rows.size());
  Stream& copyIn = *m_streams.copyIn;
  copyIn.hostTask([rows = std::move(rows), to = m_stagedStepRows] {
    std::memcpy(to, rows.data(), rows.size() * sizeof(std::int32_t));
  });
  copyIn.wait(compute.record(), Stall::Order); // the step before no longer reads them
  copyIn.copy(m_stepRows, m_stagedStepRows, m_rowsOfStep * static_cast<Bytes>(sizeof(std::int32_t)));
  compute.wait(copyIn.record(), Stall::Data);
  compute.zero(m_inputSums, m_rowsOfStep * m_spec.hidden * 4);
}

void DeviceTables::backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                            const TensorView& dX, std::byte* workspace) {
  Stream& compute = *m_streams.compute;
  const auto rows = static_cast<std::int64_t>(batch->rowTokens.size());
  const TensorView dTable(workspace, DType::F32, Shape{rows, m_spec.hidden});
  ops::embeddingBackward(compute, {dX, views.order, views.starts, dTable, scale()});
  AddRowsArgs sums;
  sums.source = dTable;
  sums.rows = views.rowTokens;
  if (m_inputSums) {
    sums.target = TensorView(m_inputSums, DType::F32, Shape{m_rowsOfStep, m_spec.hidden});
    sums.index = TensorView(m_stepRows, DType::I32, Shape{m_rowsOfStep});
  } else {
    sums.target = table(tableBlock(), Plane::Gradient);
  }
  ops::addRows(compute, sums);
  if (!positionBlock()) return;
  const TensorView dPositions(workspace + m_gradientLayout.positions, DType::F32, Shape{batch->context, m_spec.hidden});
  ops::embeddingBackward(compute, {dX, views.positionOrder, views.positionStarts, dPositions});
  AddRowsArgs positions;
  positions.source = dPositions.rows(0, batch->positionsUsed);
  positions.target = table(*positionBlock(), Plane::Gradient);
  ops::addRows(compute, positions);
}

Event DeviceTables::finishGradients() {
  Stream& compute = *m_streams.compute;
  if (m_inputSums) {
    AddRowsArgs sums;
    sums.source = TensorView(m_inputSums, DType::F32, Shape{m_rowsOfStep, m_spec.hidden});
    sums.rows = TensorView(m_stepRows, DType::I32, Shape{m_rowsOfStep});
    sums.target = table(tableBlock(), Plane::Gradient);
    ops::addRows(compute, sums);
  }
  const auto normed = [&](std::size_t block) {
    ops::sumOfSquares(compute, {.x = gradient(block), .sum = m_squares.rows(static_cast<std::int64_t>(block), 1)});
  };
  normed(tableBlock());
  if (positionBlock()) normed(*positionBlock());
  return compute.record();
}

} // namespace millrace

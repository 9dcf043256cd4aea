#include "train/host_tables.h"

#include "device/cpu/ops/embedding.h"
#include "device/cpu/ops/reduce.h"
#include "ops/ops.h"

#include <cstring>

namespace millrace {

/// Host sums of a step; the copy-out stream's tasks alone touch the contents while a step runs.
struct HostTables::Sums {
  TensorView table;                    ///< (V * H) fp32 gradient plane
  TensorView positions;                ///< (P * H)
  std::byte* input = nullptr;          ///< tied: (rows of the step, H) fp32
  std::vector<std::int32_t> inputRows; ///< tied: which rows, ascending
  double tableSquares = 0;
  double positionSquares = 0;
};

HostTables::HostTables(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory,
                       const TensorStore& store, Streams& streams, ThreadPool& pool)
    : EmbeddingProgram(spec, plan.shape, store),
      m_spec(spec),
      m_shape(plan.shape),
      m_store(store),
      m_streams(streams),
      m_pool(pool),
      m_gradientLayout(spec, plan.shape),
      m_deviceRows(memory.data(allocation_name::embeddingRows)),
      m_stagedRows(memory.data(allocation_name::stagedRows)),
      m_sums(std::make_shared<Sums>()) {
  m_positionRowsOffset = alignUp(embeddingRows(spec, m_shape) * spec.hidden * m_shape.weightBytes());
  if (!m_shape.training) return;
  m_stagedGradients = memory.data(allocation_name::stagedRowGradients);
  m_sums->table = store.plane(tableBlock(), Plane::Gradient);
  if (positionBlock()) m_sums->positions = store.plane(*positionBlock(), Plane::Gradient);
  if (spec.tiedEmbeddings) m_sums->input = memory.data(allocation_name::inputEmbeddingGradients);
}

void HostTables::lookUp(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                        const TensorView& x) {
  Stream& copyIn = *m_streams.copyIn;
  const Bytes rowBytes = m_spec.hidden * m_shape.weightBytes();
  const auto rows = static_cast<std::int64_t>(batch->rowTokens.size());
  copyIn.wait(m_rowsReady ? *m_rowsReady : m_store.ready(tableBlock()), Stall::Optimizer);
  copyIn.hostTask([batch, rowBytes, to = m_stagedRows, table = m_store.plane(tableBlock(), Plane::Weights).data] {
    std::byte* next = to;
    for (const std::int32_t token : batch->rowTokens) {
      std::memcpy(next, static_cast<const std::byte*>(table) + token * rowBytes, static_cast<std::size_t>(rowBytes));
      next += rowBytes;
    }
  });
  copyIn.wait(m_rowsFree, Stall::Order);
  copyIn.copy(m_deviceRows, m_stagedRows, rows * rowBytes);
  EmbeddingArgs args;
  args.table = TensorView(m_deviceRows, m_shape.activationType(), Shape{rows, m_spec.hidden});
  args.ids = views.rowIds;
  args.x = x;
  args.scale = scale();
  if (positionBlock()) {
    std::byte* device = m_deviceRows + m_positionRowsOffset;
    copyIn.wait(m_store.ready(*positionBlock()), Stall::Optimizer);
    copyIn.copy(device, m_store.plane(*positionBlock(), Plane::Weights).data, batch->positionsUsed * rowBytes);
    args.positionTable = TensorView(device, m_shape.activationType(), Shape{batch->positionsUsed, m_spec.hidden});
    args.positionIds = views.positions;
  }
  m_streams.compute->wait(copyIn.record(), Stall::Data);
  ops::embedding(*m_streams.compute, args);
  m_rowsFree = m_streams.compute->record();
}

void HostTables::beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) {
  Stream& copyOut = *m_streams.copyOut;
  copyOut.wait(m_store.ready(tableBlock()), Stall::Optimizer);
  if (positionBlock()) copyOut.wait(m_store.ready(*positionBlock()), Stall::Optimizer);
  if (m_sums->input) {
    std::vector<std::int32_t> rows = rowsOfStep(batch);
    const auto bytes = static_cast<Bytes>(rows.size()) * m_spec.hidden * 4;
    copyOut.hostTask([sums = m_sums, rows = std::move(rows)]() mutable { sums->inputRows = std::move(rows); });
    copyOut.zero(m_sums->input, bytes);
  } else {
    copyOut.zero(m_sums->table.data, m_sums->table.bytes());
  }
  if (positionBlock()) copyOut.zero(m_sums->positions.data, m_sums->positions.bytes());
}

namespace {
TensorView rowsAt(const std::byte* data, std::int64_t rows, std::int64_t hidden) {
  return TensorView(const_cast<std::byte*>(data), DType::F32, Shape{rows, hidden});
}
TensorView listOf(const std::vector<std::int32_t>& rows) {
  return TensorView(const_cast<std::int32_t*>(rows.data()), DType::I32, Shape{static_cast<std::int64_t>(rows.size())});
}
} // namespace

void HostTables::backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                          const TensorView& dX, std::byte* workspace) {
  Stream& compute = *m_streams.compute;
  Stream& copyOut = *m_streams.copyOut;
  const auto rows = static_cast<std::int64_t>(batch->rowTokens.size());
  const TensorView dTable(workspace, DType::F32, Shape{rows, m_spec.hidden});
  ops::embeddingBackward(compute, {dX, views.order, views.starts, dTable, scale()});
  TensorView dPositions;
  if (positionBlock()) {
    dPositions = TensorView(workspace + m_gradientLayout.positions, DType::F32, Shape{batch->context, m_spec.hidden});
    ops::embeddingBackward(compute, {dX, views.positionOrder, views.positionStarts, dPositions});
  }
  copyOut.wait(compute.record(), Stall::Order);
  copyOut.copy(m_stagedGradients, dTable.data, dTable.bytes());
  if (positionBlock())
    copyOut.copy(m_stagedGradients + m_gradientLayout.positions, dPositions.data, dPositions.bytes());
  compute.wait(copyOut.record(), Stall::Gradients); // the workspace is free again
  copyOut.hostTask([sums = m_sums, batch, rows, hidden = m_spec.hidden, vocabulary = m_spec.vocabulary,
                    staged = m_stagedGradients, positions = m_gradientLayout.positions, &pool = m_pool] {
    AddRowsArgs args;
    args.source = rowsAt(staged, rows, hidden);
    args.rows = listOf(batch->rowTokens);
    if (sums->input) {
      args.index = listOf(sums->inputRows);
      args.target = rowsAt(sums->input, args.index.shape[0], hidden);
    } else {
      args.target = rowsAt(static_cast<std::byte*>(sums->table.data), vocabulary, hidden);
    }
    cpu::addRows(pool, args);
    if (!sums->positions.valid()) return;
    AddRowsArgs ofPositions;
    ofPositions.source = rowsAt(staged + positions, batch->positionsUsed, hidden);
    ofPositions.target = rowsAt(static_cast<std::byte*>(sums->positions.data), batch->positionsUsed, hidden);
    cpu::addRows(pool, ofPositions);
  });
}

Event HostTables::finishGradients() {
  m_streams.copyOut->hostTask([sums = m_sums, hidden = m_spec.hidden, vocabulary = m_spec.vocabulary, &pool = m_pool] {
    if (sums->input) {
      AddRowsArgs args;
      args.source = rowsAt(sums->input, static_cast<std::int64_t>(sums->inputRows.size()), hidden);
      args.rows = listOf(sums->inputRows);
      args.target = rowsAt(static_cast<std::byte*>(sums->table.data), vocabulary, hidden);
      cpu::addRows(pool, args);
    }
    cpu::sumOfSquares(pool, {sums->table, TensorView(&sums->tableSquares, DType::F64, Shape{1})});
    if (sums->positions.valid())
      cpu::sumOfSquares(pool, {sums->positions, TensorView(&sums->positionSquares, DType::F64, Shape{1})});
  });
  return m_streams.copyOut->record();
}

std::optional<double> HostTables::squares(std::size_t block) const {
  return block == tableBlock() ? m_sums->tableSquares : m_sums->positionSquares;
}

} // namespace millrace

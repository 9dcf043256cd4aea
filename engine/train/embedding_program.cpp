#include "train/embedding_program.h"

#include "device/cpu/ops/reduce.h"
#include "ops/ops.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace millrace {

/// Host sums of a step; the copy-out stream's tasks alone touch the contents while a step runs.
struct EmbeddingProgram::Sums {
  TensorView table;                    ///< (V * H) fp32 gradient plane
  TensorView positions;                ///< (P * H)
  std::byte* input = nullptr;          ///< tied: (rows of the step, H) fp32
  std::vector<std::int32_t> inputRows; ///< tied: which rows, ascending
  double tableSquares = 0;
  double positionSquares = 0;
};

EmbeddingProgram::EmbeddingProgram(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory,
                                   const TensorStore& store, Streams& streams, ThreadPool& pool)
    : m_spec(spec),
      m_shape(plan.shape),
      m_store(store),
      m_streams(streams),
      m_pool(pool),
      m_table(*findBlock(store.blocks(), BlockKind::Embedding)),
      m_positions(findBlock(store.blocks(), BlockKind::Positions)),
      m_gradientLayout(spec, plan.shape),
      m_deviceRows(memory.data(allocation_name::embeddingRows)),
      m_stagedRows(memory.data(allocation_name::stagedRows)),
      m_sums(std::make_shared<Sums>()) {
  m_positionRowsOffset = alignUp(embeddingRows(spec, m_shape) * spec.hidden * m_shape.weightBytes());
  if (!m_shape.training) return;
  m_stagedGradients = memory.data(allocation_name::stagedRowGradients);
  m_sums->table = store.plane(m_table, Plane::Gradient);
  if (m_positions) m_sums->positions = store.plane(*m_positions, Plane::Gradient);
  if (spec.tiedEmbeddings) m_sums->input = memory.data(allocation_name::inputEmbeddingGradients);
}

void EmbeddingProgram::lookUp(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                              const TensorView& x) {
  Stream& copyIn = *m_streams.copyIn;
  const Bytes rowBytes = m_spec.hidden * m_shape.weightBytes();
  const auto rows = static_cast<std::int64_t>(batch->rowTokens.size());
  copyIn.wait(m_rowsReady ? *m_rowsReady : m_store.ready(m_table), Stall::Optimizer);
  copyIn.hostTask([batch, rowBytes, to = m_stagedRows, table = m_store.plane(m_table, Plane::Weights).data] {
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
  if (m_positions) {
    std::byte* device = m_deviceRows + m_positionRowsOffset;
    copyIn.wait(m_store.ready(*m_positions), Stall::Optimizer);
    copyIn.copy(device, m_store.plane(*m_positions, Plane::Weights).data, batch->positionsUsed * rowBytes);
    args.positionTable = TensorView(device, m_shape.activationType(), Shape{batch->positionsUsed, m_spec.hidden});
    args.positionIds = views.positions;
  }
  m_streams.compute->wait(copyIn.record(), Stall::Data);
  ops::embedding(*m_streams.compute, args);
  m_rowsFree = m_streams.compute->record();
}

void EmbeddingProgram::beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) {
  Stream& copyOut = *m_streams.copyOut;
  copyOut.wait(m_store.ready(m_table), Stall::Optimizer);
  if (m_positions) copyOut.wait(m_store.ready(*m_positions), Stall::Optimizer);
  if (m_sums->input) {
    std::vector<std::int32_t> rows;
    for (const auto& micro : batch) rows.insert(rows.end(), micro->rowTokens.begin(), micro->rowTokens.end());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const auto bytes = static_cast<Bytes>(rows.size()) * m_spec.hidden * 4;
    copyOut.hostTask([sums = m_sums, rows = std::move(rows)]() mutable { sums->inputRows = std::move(rows); });
    copyOut.zero(m_sums->input, bytes);
  } else {
    copyOut.zero(m_sums->table.data, m_sums->table.bytes());
  }
  if (m_positions) copyOut.zero(m_sums->positions.data, m_sums->positions.bytes());
}

namespace {
void addRow(float* sum, const float* row, std::int64_t hidden) {
  for (std::int64_t i = 0; i < hidden; ++i) sum[i] += row[i];
}
} // namespace

void EmbeddingProgram::backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                                const TensorView& dX, std::byte* workspace) {
  Stream& compute = *m_streams.compute;
  Stream& copyOut = *m_streams.copyOut;
  const auto rows = static_cast<std::int64_t>(batch->rowTokens.size());
  const TensorView dTable(workspace, DType::F32, Shape{rows, m_spec.hidden});
  ops::embeddingBackward(compute, {dX, views.order, views.starts, dTable});
  TensorView dPositions;
  if (m_positions) {
    dPositions = TensorView(workspace + m_gradientLayout.positions, DType::F32, Shape{batch->context, m_spec.hidden});
    ops::embeddingBackward(compute, {dX, views.positionOrder, views.positionStarts, dPositions});
  }
  copyOut.wait(compute.record(), Stall::Order);
  copyOut.copy(m_stagedGradients, dTable.data, dTable.bytes());
  if (m_positions) copyOut.copy(m_stagedGradients + m_gradientLayout.positions, dPositions.data, dPositions.bytes());
  compute.wait(copyOut.record(), Stall::Gradients); // the workspace is free again
  copyOut.hostTask([sums = m_sums, batch, hidden = m_spec.hidden, staged = m_stagedGradients,
                    positions = m_gradientLayout.positions] {
    const auto* gradient = reinterpret_cast<const float*>(staged);
    auto* target = sums->input ? reinterpret_cast<float*>(sums->input) : sums->table.as<float>();
    auto known = sums->inputRows.begin();
    for (std::size_t i = 0; i < batch->rowTokens.size(); ++i) {
      std::int64_t row = batch->rowTokens[i];
      if (sums->input) {
        known = std::lower_bound(known, sums->inputRows.end(), batch->rowTokens[i]);
        row = known - sums->inputRows.begin();
      }
      addRow(target + row * hidden, gradient + static_cast<std::int64_t>(i) * hidden, hidden);
    }
    if (!sums->positions.valid()) return;
    const auto* rowsOf = reinterpret_cast<const float*>(staged + positions);
    for (std::int64_t p = 0; p < batch->positionsUsed; ++p)
      addRow(sums->positions.as<float>() + p * hidden, rowsOf + p * hidden, hidden);
  });
}

Event EmbeddingProgram::finishGradients() {
  m_streams.copyOut->hostTask([sums = m_sums, hidden = m_spec.hidden, &pool = m_pool] {
    for (std::size_t i = 0; i < sums->inputRows.size(); ++i)
      addRow(sums->table.as<float>() + sums->inputRows[i] * hidden,
             reinterpret_cast<const float*>(sums->input) + static_cast<std::int64_t>(i) * hidden, hidden);
    cpu::sumOfSquares(pool, {sums->table, TensorView(&sums->tableSquares, DType::F64, Shape{1})});
    if (sums->positions.valid())
      cpu::sumOfSquares(pool, {sums->positions, TensorView(&sums->positionSquares, DType::F64, Shape{1})});
  });
  return m_streams.copyOut->record();
}

double EmbeddingProgram::squares(std::size_t block) const {
  return block == m_table ? m_sums->tableSquares : m_sums->positionSquares;
}

} // namespace millrace

// HostTables: embedding tables whose state is in host memory. The rows that a micro-batch uses are gathered and sent in
// (T x H at most, never the table), and their gradients come back to sums in host memory.
#pragma once

#include "plan/head_layout.h"
#include "train/embedding_program.h"

namespace millrace {

class HostTables final : public EmbeddingProgram {
 public:
  HostTables(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store,
             Streams& streams, ThreadPool& pool);

  void rowsReady(Event event) override { m_rowsReady = std::move(event); }
  void lookUp(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
              const TensorView& x) override;
  void beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) override;
  void backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views, const TensorView& dX,
                std::byte* workspace) override;
  Event finishGradients() override;
  TensorView gradient(std::size_t block) const override { return m_store.plane(block, Plane::Gradient); }
  std::optional<double> squares(std::size_t block) const override;

 private:
  struct Sums; // shared with tasks on the copy streams

  const ModelSpec m_spec;
  const RunShape m_shape;
  const TensorStore& m_store;
  Streams& m_streams;
  ThreadPool& m_pool;
  const EmbeddingGradientLayout m_gradientLayout;
  Bytes m_positionRowsOffset = 0;
  std::byte* m_deviceRows;
  std::byte* m_stagedRows;
  std::byte* m_stagedGradients = nullptr;
  std::shared_ptr<Sums> m_sums;
  std::optional<Event> m_rowsReady;
  Event m_rowsFree;
};

} // namespace millrace

// DeviceTables: embedding tables whose state is on the device. Lookups read them where they are, and gradients never
// leave.
#pragma once

#include "plan/head_layout.h"
#include "train/embedding_program.h"

namespace millrace {

class DeviceTables final : public EmbeddingProgram {
 public:
  DeviceTables(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store,
               Streams& streams, const TensorView& squares);

  void rowsReady(Event) override {} // none are gathered
  void lookUp(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
              const TensorView& x) override;
  void beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) override;
  void backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views, const TensorView& dX,
                std::byte* workspace) override;
  Event finishGradients() override;
  TensorView gradient(std::size_t block) const override;
  std::optional<double> squares(std::size_t) const override { return std::nullopt; }

 private:
  TensorView table(std::size_t block, Plane plane) const; ///< (rows, H)

  const ModelSpec m_spec;
  const EmbeddingGradientLayout m_gradientLayout;
  const TensorStore& m_store;
  Streams& m_streams;
  const TensorView m_squares;
  TensorView m_headGradient; ///< tied: the head's sums for the table, (V * H)
  // Tied: the input's sums for the rows that the step uses.
  std::byte* m_inputSums = nullptr;
  std::byte* m_stepRows = nullptr;
  std::byte* m_stagedStepRows = nullptr;
  std::int64_t m_rowsOfStep = 0;
};

} // namespace millrace

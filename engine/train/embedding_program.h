// EmbeddingProgram: token ids to activations, and the gradients of the embedding tables. Tables live on the host, where
// the rows that a micro-batch uses are gathered (HostTables), or on the device (DeviceTables); both give the same bits.
// With tied embeddings the input's gradients gather apart from the head's and are added once at the end of a step, so
// that the order of additions is the same for every schedule.
#pragma once

#include "base/thread_pool.h"
#include "storage/tensor_store.h"
#include "stream/streams.h"
#include "train/batch_upload.h"

#include <memory>
#include <optional>
#include <vector>

namespace millrace {

class EmbeddingProgram {
 public:
  EmbeddingProgram(const ModelSpec& spec, const RunShape& shape, const TensorStore& store);
  virtual ~EmbeddingProgram() = default;

  std::size_t tableBlock() const { return m_table; }
  std::optional<std::size_t> positionBlock() const { return m_positions; }

  /// The rows that lookups gather are current when this has happened (the rest of the table may still be updating).
  /// Until it is set anew, and by default, the whole table's ready event holds.
  virtual void rowsReady(Event event) = 0;

  /// x (T, H) on the compute stream.
  virtual void lookUp(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                      const TensorView& x) = 0;

  /// Before a step's first backward(): batch holds all micro-batches of the step.
  virtual void beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) = 0;
  /// Adds the gradients of one micro-batch's rows, dX (T, H), to the step's sums.
  virtual void backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views,
                        const TensorView& dX, std::byte* workspace) = 0;
  /// After the last one: the gradients and their sums of squares are complete when the event has happened.
  virtual Event finishGradients() = 0;
  /// Of a block of this program, (elements) fp32.
  virtual TensorView gradient(std::size_t block) const = 0;
  /// The sum of squares of a block of this program, once finishGradients()' event has happened; nullopt: it is on the
  /// device, among the scalars.
  virtual std::optional<double> squares(std::size_t block) const = 0;

 protected:
  /// The rows of the table that the micro-batches use, each once, ascending.
  static std::vector<std::int32_t> rowsOfStep(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch);
  /// The spec's scale of looked-up rows, rounded to what they are computed in, as their values are.
  float scale() const { return m_scale; }

 private:
  const float m_scale;
  const std::size_t m_table;
  const std::optional<std::size_t> m_positions;
};

/// As the plan's homes say. squares: one fp64 per block on the device, for sums of squares. All must outlive it.
std::unique_ptr<EmbeddingProgram> makeEmbeddingProgram(const ModelSpec& spec, const MemoryPlan& plan,
                                                       const PlannedMemory& memory, const TensorStore& store,
                                                       Streams& streams, ThreadPool& pool, const TensorView& squares);

} // namespace millrace

// EmbeddingProgram: the rows that a micro-batch uses, gathered on the host and sent in (T x H at most, never the
// table), and the way of their gradients back into host memory. With tied embeddings the input's gradients gather apart
// from the head's and are added once at the end of a step, so that the order of additions is the same for every
// schedule.
#pragma once

#include "base/thread_pool.h"
#include "plan/head_layout.h"
#include "storage/tensor_store.h"
#include "stream/streams.h"
#include "train/batch_upload.h"

#include <memory>
#include <vector>

namespace millrace {

class EmbeddingProgram {
 public:
  EmbeddingProgram(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store,
                   Streams& streams, ThreadPool& pool);

  std::size_t tableBlock() const { return m_table; }
  std::optional<std::size_t> positionBlock() const { return m_positions; }

  /// The rows that lookups use are current when this has happened (the rest of the table may still be updating). Until
  /// it is set anew, and by default, the whole table's ready event holds.
  void rowsReady(Event event) { m_rowsReady = std::move(event); }

  /// x (T, H) on the compute stream.
  void lookUp(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views, const TensorView& x);

  /// Before a step's first backward(): batch holds all micro-batches of the step.
  void beginGradients(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch);
  /// Adds the gradients of one micro-batch's rows, dX (T, H), to the host's sums.
  void backward(const std::shared_ptr<const PreparedMicroBatch>& batch, const BatchViews& views, const TensorView& dX,
                std::byte* workspace);
  /// After the last one: the gradient planes are complete when the event has happened, and squares() holds their sums
  /// of squares.
  Event finishGradients();
  /// Of a block of this program; valid after finishGradients()' event.
  double squares(std::size_t block) const;

 private:
  struct Sums; // shared with tasks on the copy streams

  const ModelSpec m_spec;
  const RunShape m_shape;
  const TensorStore& m_store;
  Streams& m_streams;
  ThreadPool& m_pool;
  const std::size_t m_table;
  const std::optional<std::size_t> m_positions;
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

// Several sources as one BatchSource, drawn from row by row in proportion to their weights (see interleaving.h), each
// in its own order and with its own epochs: a small source with much weight comes round again and again. All state is
// how many rows were drawn.
#pragma once

#include "data/interleaving.h"
#include "data/packed_source.h"

namespace millrace {

class MixedSource final : public BatchSource {
 public:
  /// A weight for each source; all of one context.
  MixedSource(std::vector<std::unique_ptr<PackedSource>> sources, std::vector<double> weights);

  Result<MicroBatch> next(std::int64_t rows) override;
  /// Epoch 0 and the rows drawn, always: each source has epochs of its own.
  DataCursor cursor() const override { return {0, m_order.turns()}; }
  Status seek(const DataCursor& cursor) override;
  /// As many rows as all sources have together.
  std::int64_t rowsPerEpoch() const override;
  std::int64_t context() const override { return m_sources.front()->context(); }
  void setWaiting(DataProgressCallback waiting) override;
  std::vector<double> passes() const override;

 private:
  std::vector<std::unique_ptr<PackedSource>> m_sources;
  std::vector<double> m_weights;
  Interleaving m_order;
};

} // namespace millrace

// MemoryLayout: the bytes of a run as a function of where its units live. Everything that does not depend on that is
// worked out once, so that a planner can ask for the totals of thousands of placements. Pure.
#pragma once

#include "model/blocks.h"
#include "plan/head_layout.h"
#include "plan/layer_layout.h"
#include "plan/memory_plan.h"

#include <array>
#include <span>

namespace millrace {

struct TierTotals {
  std::array<Bytes, memoryTiers> bytes{};
  Bytes& operator[](MemoryTier tier) { return bytes[static_cast<std::size_t>(tier)]; }
  Bytes operator[](MemoryTier tier) const { return bytes[static_cast<std::size_t>(tier)]; }
};

/// The spec must outlive it.
class MemoryLayout {
 public:
  MemoryLayout(const ModelSpec& spec, const RunShape& shape);

  const ModelSpec& spec() const { return m_spec; }
  const RunShape& shape() const { return m_shape; }
  const std::vector<BlockSpec>& blocks() const { return m_blocks; }
  const std::vector<StreamUnit>& units() const { return m_units; }
  const LayerLayout& layer() const { return m_layer; }
  const BatchLayout& batch() const { return m_batch; }

  /// What plan() would add up to.
  TierTotals totals(std::span<const UnitHome> homes) const;
  MemoryPlan plan(std::vector<UnitHome> homes) const;

  /// Bytes a parameter that AdamW alone reads and writes: moments, and the remainder of split weights.
  Bytes updateBytes() const;
  /// Bytes a parameter of a block's gradient while it waits for the clip factor; 0: it does not wait.
  Bytes waitingBytes(BlockKind kind) const;

 private:
  /// add(name, tier, category, bytes) for each allocation; name() makes the text.
  template <class Add>
  void visit(std::span<const UnitHome> homes, const Add& add) const;
  template <class Add>
  void visitState(std::span<const UnitHome> homes, const Add& add) const;
  template <class Add>
  void visitUnits(std::span<const UnitHome> homes, const Add& add) const;
  template <class Add>
  void visitDiskBuffers(std::span<const UnitHome> homes, const Add& add) const;
  template <class Add>
  void visitActivations(const Add& add) const;

  const ModelSpec& m_spec;
  const RunShape m_shape;
  const std::vector<BlockSpec> m_blocks;
  const std::vector<StreamUnit> m_units;
  const LayerLayout m_layer;
  const HeadLayout m_head;
  const EmbeddingGradientLayout m_rowGradients;
  const BatchLayout m_batch;
};

} // namespace millrace

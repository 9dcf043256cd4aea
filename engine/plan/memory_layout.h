// MemoryLayout: the bytes of a run as a function of where its units live. Everything that does not depend on that is
// worked out once, so that a planner can ask for the totals of thousands of placements. Pure.
#pragma once

#include "model/blocks.h"
#include "plan/head_layout.h"
#include "plan/layer_layout.h"
#include "plan/memory_plan.h"

#include <array>
#include <memory>
#include <span>

namespace millrace {

/// How many layers have which home, and the head's: layers are alike, so that bytes and work follow from these numbers.
struct HomeCounts {
  std::array<std::int64_t, unitHomes> layers{};
  UnitHome head = UnitHome::Host;
  std::int64_t held = 0; ///< RunShape::heldLayers
  std::int64_t& operator[](UnitHome home) { return layers[static_cast<std::size_t>(home)]; }
  std::int64_t operator[](UnitHome home) const { return layers[static_cast<std::size_t>(home)]; }
  std::int64_t streamed() const; ///< layers whose weights come in for each pass
  std::int64_t onHost() const;   ///< layers that AdamW updates in host memory
};

/// homes by unit of unitsOf(). No layer is held.
HomeCounts countHomes(std::span<const UnitHome> homes);

/// What all layouts of a model share.
struct ModelParts {
  explicit ModelParts(const ModelSpec& spec) : blocks(blocksOf(spec)), units(unitsOf(blocks)) {}
  std::vector<BlockSpec> blocks;
  std::vector<StreamUnit> units;
};

/// The spec must outlive it.
class MemoryLayout {
 public:
  MemoryLayout(const ModelSpec& spec, const RunShape& shape)
      : MemoryLayout(spec, shape, std::make_shared<const ModelParts>(spec)) {}
  /// For many layouts of one model.
  MemoryLayout(const ModelSpec& spec, const RunShape& shape, std::shared_ptr<const ModelParts> parts);

  const ModelSpec& spec() const { return m_spec; }
  const RunShape& shape() const { return m_shape; }
  const std::vector<BlockSpec>& blocks() const { return m_parts->blocks; }
  const std::vector<StreamUnit>& units() const { return m_parts->units; }
  const LayerLayout& layer() const { return m_layer; }
  const BatchLayout& batch() const { return m_batch; }

  /// What plan() would add up to; takes no time that grows with the model.
  TierTotals totals(const HomeCounts& counts) const;
  TierTotals totals(std::span<const UnitHome> homes) const { return totals(counts(homes)); }
  HomeCounts counts(std::span<const UnitHome> homes) const;
  MemoryPlan plan(std::vector<UnitHome> homes) const;

  /// Bytes a parameter that AdamW alone reads and writes: moments, and the remainder of split weights.
  Bytes updateBytes() const;
  /// Bytes a parameter of a block's gradient while it waits for the clip factor; 0: it does not wait.
  Bytes waitingBytes(BlockKind kind) const;
  /// Host memory that a held layer takes more than one whose gradient does not wait.
  Bytes heldLayerBytes() const { return m_held[MemoryTier::Host] - m_layerTotals[0][MemoryTier::Host]; }

 private:
  bool isHeadMatrix(std::size_t block) const;

  /// Each gives add(name, tier, category, bytes) for each allocation; name() makes the text.
  template <class Add>
  void visitBlock(std::size_t block, UnitHome home, bool held, const Add& add) const;
  template <class Add>
  void visitTables(UnitHome head, const Add& add) const;
  template <class Add>
  void visitState(std::size_t unit, UnitHome home, bool held, const Add& add) const;
  template <class Add>
  void visitResident(std::size_t unit, UnitHome home, const Add& add) const;
  template <class Add>
  void visitSlots(const HomeCounts& counts, const Add& add) const;
  template <class Add>
  void visitUpdateSlots(const HomeCounts& counts, const Add& add) const;
  template <class Add>
  void visitDiskBuffers(const HomeCounts& counts, const Add& add) const;
  template <class Add>
  void visitActivations(const Add& add) const;
  template <class Add>
  void visitRows(UnitHome head, const Add& add) const;

  const ModelSpec& m_spec;
  const RunShape m_shape;
  const std::shared_ptr<const ModelParts> m_parts;
  const LayerLayout m_layer;
  const HeadLayout m_head;
  const EmbeddingGradientLayout m_rowGradients;
  const BatchLayout m_batch;
  TierTotals m_fixed;                                            ///< whatever the homes
  std::array<TierTotals, unitHomes> m_layerTotals, m_headTotals; ///< by home
  TierTotals m_held;                                             ///< of a layer with the home Host that is held
};

} // namespace millrace

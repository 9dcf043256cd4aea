#include "plan/stream_unit.h"

namespace millrace {

std::optional<std::size_t> findBlock(const std::vector<BlockSpec>& blocks, BlockKind kind) {
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].kind == kind) return i;
  return std::nullopt;
}

std::vector<StreamUnit> unitsOf(const std::vector<BlockSpec>& blocks) {
  std::vector<StreamUnit> units;
  const auto append = [&](StreamUnit& unit, std::size_t block) {
    unit.blocks.push_back(block);
    unit.offsets.push_back(unit.elements);
    unit.elements += blocks[block].elements;
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].layer < 0) continue;
    if (units.empty() || units.back().layer != blocks[i].layer) units.push_back(StreamUnit{blocks[i].layer, {}, {}, 0});
    append(units.back(), i);
  }
  StreamUnit head;
  if (const auto norm = findBlock(blocks, BlockKind::FinalNorm)) append(head, *norm);
  const auto matrix = findBlock(blocks, BlockKind::Head);
  append(head, matrix ? *matrix : *findBlock(blocks, BlockKind::Embedding));
  units.push_back(std::move(head));
  return units;
}

} // namespace millrace

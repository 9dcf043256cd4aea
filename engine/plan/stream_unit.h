// What is leased at once: the two blocks of a layer, or the final norm with the head's matrix. Pure.
#pragma once

#include "model/blocks.h"

#include <cstdint>
#include <vector>

namespace millrace {

struct StreamUnit {
  std::int64_t layer = -1;           ///< -1: the head
  std::vector<std::size_t> blocks;   ///< indices into blocksOf(spec)
  std::vector<std::int64_t> offsets; ///< first element of each block in the unit
  std::int64_t elements = 0;
  bool isHead() const { return layer < 0; }
};

/// Layers in order, then the head. With tied embeddings the head's matrix is the embedding block.
std::vector<StreamUnit> unitsOf(const std::vector<BlockSpec>& blocks);

/// The block that holds what the kind names; nullopt when the model has none.
std::optional<std::size_t> findBlock(const std::vector<BlockSpec>& blocks, BlockKind kind);

} // namespace millrace

// The parameters of a model as blocks: the unit of placement, transfer, version, gradient norm, AdamW and checkpoint.
// Pure functions of a ModelSpec.
#pragma once

#include "model/model_spec.h"
#include "tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

enum class BlockKind {
  Embedding, ///< token embedding (V, H); also the head's weight when tied
  Positions, ///< learned positions (P, H)
  Attention, ///< of one layer, with its norms
  Mlp,       ///< of one layer, with its norms
  FinalNorm, ///< and with an untied head nothing else
  Head,      ///< (V, H), absent when tied
};

constexpr std::int64_t groupAlignment = 128; ///< elements

/// One tensor of a checkpoint and where it lies in its block.
struct ParameterSpec {
  std::string name;        ///< Hugging Face name
  Shape shape;             ///< as in the file
  std::int64_t offset = 0; ///< first element in the block
  bool decay = false;      ///< weight decay applies: two or more dimensions
  std::int64_t elements() const { return shape.elements(); }
};

/// Roles by which layer programs find weights. Fused roles cover several adjacent tensors as one matrix.
enum class Role {
  Table, ///< Embedding, Positions, Head: the whole matrix
  NormWeight,
  NormBias,
  PostNormWeight,
  QkvWeight, ///< rows q, then k, then v (columns in a Conv1D weight)
  QkvBias,
  QNormWeight,
  KNormWeight,
  OutWeight,
  OutBias,
  RouterWeight, ///< (E, H)
  UpWeight,     ///< gated: rows gate, then up; with experts (E, 2 inner, H)
  UpBias,
  DownWeight, ///< with experts (E, H, inner)
  DownBias,
};

/// A matrix or vector that a layer program computes with.
struct RoleSpec {
  Role role = Role::Table;
  Shape shape;
  std::int64_t offset = 0;
};

struct BlockSpec {
  BlockKind kind = BlockKind::Embedding;
  std::int64_t layer = -1; ///< of Attention and Mlp
  std::string name;        ///< "embedding", "layers.3.attention", "head": for people and files
  std::vector<ParameterSpec> parameters;
  std::vector<RoleSpec> roles;
  /// Elements, padding included: the groups that a role covers start at multiples of 128 elements, so that every
  /// operand is 256-byte aligned in the narrowest plane. Padding is zero and stays zero.
  std::int64_t elements = 0;
  /// Elements that are parameters.
  std::int64_t parameterCount() const;
  const RoleSpec* find(Role role) const;
};

/// All blocks in forward order: Embedding, [Positions], then Attention and Mlp of each layer, FinalNorm, [Head].
/// The spec must be one that config import accepts: its sizes positive and their products in range.
std::vector<BlockSpec> blocksOf(const ModelSpec& spec);

/// Parameters of the model, tied ones once.
std::int64_t parameterCount(const ModelSpec& spec);

/// A part of one parameter inside a range of its block.
struct BlockPiece {
  const ParameterSpec* parameter = nullptr;
  std::int64_t first = 0; ///< element of the parameter
  std::int64_t count = 0;
  std::int64_t at = 0; ///< element of the range
};

/// The parts that the elements [first, first + count) of a block are made of, in order; what they leave out is padding.
/// They point into the block.
std::vector<BlockPiece> piecesOf(const BlockSpec& block, std::int64_t first, std::int64_t count);

/// The names under which checkpoints may hold a parameter: its own first, then the one without the prefix of the whole
/// model ("transformer.", "model."), which files saved from the bare model lack.
std::vector<std::string> checkpointNames(std::string_view name);

} // namespace millrace

// Where each tensor of a layer's forward and backward lives: in the record that is kept for backward, or in the
// workspace. Pure functions of (spec, shape); the layer program computes through these views, the planner adds up the
// same bytes.
#pragma once

#include "model/model_spec.h"
#include "plan/run_shape.h"

#include <array>
#include <cstddef>

namespace millrace {

enum class LayerTensor : std::size_t {
  Input, ///< (T, H)
  Mean1,
  Rstd1,           ///< (T) fp32
  Norm1,           ///< (T, H), preNorms
  Qkv,             ///< (T, (heads + 2 kvHeads) D); with qkNorm as projected, else rotated in place
  QRstd,           ///< (T, heads, or 1 over the projection) fp32, qkNorm
  KRstd,           ///< (T, kvHeads, or 1 over the projection) fp32, qkNorm
  Qk,              ///< (T, (heads + kvHeads) D): normed and rotated, qkNorm
  AttentionOut,    ///< (T, heads D)
  Lse,             ///< (rows, heads, context) fp32
  AttentionBranch, ///< (T, H): what attention adds to the residual, before its norm; postNorms
  AttentionBranchRstd,
  Mid, ///< (T, H): the residual between attention and MLP
  Mean2,
  Rstd2, ///< (T) fp32
  Norm2, ///< (T, H), preNorms
  // With experts; K of each token, whose rows lie sorted by expert: Up, Inner and DInner are then (T K, ...).
  RouterLogits,  ///< (T, E) fp32
  Experts,       ///< (T, K) int32
  ExpertWeights, ///< (T, K) fp32
  ExpertRows,    ///< (T, K) int32
  RowTokens,     ///< (T K) int32
  RowWeights,    ///< (T K) fp32
  ExpertBegins,  ///< (E + 1) int32
  ExpertInput,   ///< (T K, H)
  Up,            ///< (T, 2 inner) gate then up, or (T, inner); in backward its gradient, in place
  Inner,         ///< (T, inner)
  MlpBranch,     ///< (T, H): what the MLP adds to the residual, before its norm; postNorms
  MlpBranchRstd,
  ExpertOutput,     ///< (T K, H), forward alone
  DMlpBranch,       ///< (T, H), postNorms
  DExpertOutput,    ///< (T K, H)
  DInner,           ///< (T, inner)
  DRowWeights,      ///< (T K) fp32
  DExpertInput,     ///< (T K, H)
  DRouterLogits,    ///< (T, E)
  DMid,             ///< (T, H): first the gradient of Norm2, then of Mid
  DAttentionBranch, ///< (T, H), postNorms
  DAttentionOut,    ///< (T, heads D)
  AttentionScratch, ///< (rows, context, heads, D + 1) fp32
  DQkv,             ///< (T, (heads + 2 kvHeads) D)
  DNorm1,           ///< (T, H)
  Count
};
constexpr std::size_t layerTensors = static_cast<std::size_t>(LayerTensor::Count);

class LayerLayout {
 public:
  LayerLayout(const ModelSpec& spec, const RunShape& shape);

  /// Bytes of the record's first part, the layer's input; and of the whole record.
  Bytes inputBytes() const { return m_inputBytes; }
  Bytes recordBytes() const { return m_recordBytes; }
  Bytes workspaceBytes() const { return m_workspaceBytes; }

  bool kept(LayerTensor tensor) const { return at(tensor).recordOffset >= 0; }

  enum class Pass { Forward, Backward };
  /// The tensor for a micro-batch of `rows` rows of `context` tokens, neither above the shape's. Invalid for a tensor
  /// that the architecture does not have.
  TensorView view(LayerTensor tensor, Pass pass, std::byte* record, std::byte* workspace, std::int64_t rows,
                  std::int64_t context) const;

 private:
  struct Entry {
    std::int64_t width = 0; ///< elements a token; 0: not part of this architecture
    std::int64_t fixed = 0; ///< elements, whatever the tokens; 0 where width is not
    DType dtype = DType::F32;
    Bytes recordOffset = -1;
    Bytes workspaceOffset[2] = {-1, -1}; ///< by pass
  };
  const Entry& at(LayerTensor tensor) const { return m_entries[static_cast<std::size_t>(tensor)]; }
  Entry& at(LayerTensor tensor) { return m_entries[static_cast<std::size_t>(tensor)]; }

  bool present(LayerTensor tensor) const { return at(tensor).width + at(tensor).fixed > 0; }
  Shape shapeOf(LayerTensor tensor, std::int64_t rows, std::int64_t context) const;

  std::int64_t m_chosen = 0; ///< experts of a token
  std::int64_t m_heads = 0;
  std::int64_t m_headDim = 0;
  std::array<Entry, layerTensors> m_entries{};
  Bytes m_inputBytes = 0;
  Bytes m_recordBytes = 0;
  Bytes m_workspaceBytes = 0;
};

} // namespace millrace

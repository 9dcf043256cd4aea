// LayerProgram: forward, recompute and backward of one transformer layer, written by hand: no autograd graph. The same
// program serves every layer; weights are bound as they arrive ("stateless layer template"). Everything is submitted to
// one stream.
#pragma once

#include "device/stream.h"
#include "model/blocks.h"
#include "plan/layer_layout.h"
#include "train/bound_layer.h"

#include <vector>

namespace millrace {

class LayerProgram {
 public:
  LayerProgram(const ModelSpec& spec, const RunShape& shape);

  const LayerLayout& layout() const { return m_layout; }

  /// Elements of a layer's two blocks: weights in the activation dtype, or gradients in fp32.
  struct Blocks {
    TensorView attention, mlp;
  };

  /// out (T, H) from the record's input; what the policy keeps is written to the record.
  void forward(Stream& stream, std::int64_t layer, const Blocks& weights, const SequenceViews& sequence,
               std::byte* record, std::byte* workspace, const TensorView& out) const;

  /// carrier (T, H): gradient of the layer's output on entry, of its input on return. Recomputes what the record lacks,
  /// adds to gradients.
  void backward(Stream& stream, std::int64_t layer, const Blocks& weights, const Blocks& gradients,
                const SequenceViews& sequence, std::byte* record, std::byte* workspace,
                const TensorView& carrier) const;

  /// Forward of `context` further tokens of each row after `cached` earlier ones, whose keys and values are in the
  /// cache (rows, cacheTokens, 2 kvHeads D) of this layer; the new ones are added to it. sequence.documentStart covers
  /// cached + context tokens.
  void forwardCached(Stream& stream, std::int64_t layer, const Blocks& weights, const SequenceViews& sequence,
                     const TensorView& cache, std::int64_t cached, std::byte* record, std::byte* workspace,
                     const TensorView& out) const;

 private:
  BoundLayer bind(std::int64_t layer, const Blocks& weights, const Blocks& gradients, const SequenceViews& sequence,
                  LayerLayout::Pass pass, std::byte* record, std::byte* workspace) const;

  void norm(Stream& stream, const NormParameters& of, const TensorView& x, const TensorView& y, const TensorView& mean,
            const TensorView& rstd) const;
  void normBackward(Stream& stream, const NormParameters& of, const TensorView& dY, const TensorView& x,
                    const TensorView& mean, const TensorView& rstd, const TensorView& dX,
                    const TensorView& dResidual) const;
  void addNormed(Stream& stream, const NormParameters& of, const TensorView& branch, const TensorView& residual,
                 const TensorView& rstd, const TensorView& out) const;
  TensorView normedQueries(const TensorView& qkv) const;
  TensorView normedKeys(const TensorView& qkv) const;
  void projectQkv(Stream& stream, const BoundLayer& b) const;
  void attend(Stream& stream, const BoundLayer& b) const;
  void attentionOutput(Stream& stream, const BoundLayer& b) const;
  void addAttention(Stream& stream, const BoundLayer& b) const;
  void mlpInner(Stream& stream, const BoundLayer& b) const;
  void mlpOutput(Stream& stream, const BoundLayer& b, const TensorView& out) const;
  void mlpBackward(Stream& stream, const BoundLayer& b, const TensorView& carrier) const;
  void attentionBackward(Stream& stream, const BoundLayer& b, const TensorView& carrier) const;

  const ModelSpec m_spec;
  const RunShape m_shape;
  const LayerLayout m_layout;
  std::vector<BlockSpec> m_attentionBlocks, m_mlpBlocks; ///< by layer
};

} // namespace millrace

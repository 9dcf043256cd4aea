// HeadProgram: final norm, logits, cross-entropy and their backward, a chunk of tokens at a time. Nothing is recomputed
// and the logits of a batch never exist.
#pragma once

#include "plan/head_layout.h"
#include "train/linear.h"

namespace millrace {

class HeadProgram {
 public:
  HeadProgram(const ModelSpec& spec, const RunShape& shape);

  /// Elements of the final norm's block and of the block that holds the matrix (the embedding's, when tied).
  struct Blocks {
    TensorView norm, matrix;
  };

  /// Adds the loss of all targets (a sum, nats) to lossSum (1) fp64. x (T, H) is the last layer's output; targets (T)
  /// int32.
  void loss(Stream& stream, const Blocks& weights, const TensorView& x, const TensorView& targets,
            const TensorView& lossSum, std::byte* workspace) const;

  /// The same, and: gradients += those of the loss times scale; x becomes its own gradient.
  void lossAndGradients(Stream& stream, const Blocks& weights, const Blocks& gradients, const TensorView& x,
                        const TensorView& targets, const TensorView& lossSum, float scale, std::byte* workspace) const;

  /// Logits of at most a chunk of tokens: x (n, H) -> (n, V) fp32 in the workspace, until the stream's next use of it.
  TensorView logits(Stream& stream, const Blocks& weights, const TensorView& x, std::byte* workspace) const;

 private:
  struct Chunk;
  Chunk forwardChunk(Stream& stream, const Blocks& weights, const TensorView& x, std::byte* workspace) const;

  const ModelSpec m_spec;
  const RunShape m_shape;
  const bool m_tf32; ///< see MatmulArgs
  const HeadLayout m_layout;
  BlockSpec m_normBlock, m_matrixBlock;
};

} // namespace millrace

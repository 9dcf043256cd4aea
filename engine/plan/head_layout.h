// Workspace of the head: one chunk of tokens at a time, so that the logits of a batch never exist. Pure.
#pragma once

#include "model/model_spec.h"
#include "plan/run_shape.h"

namespace millrace {

struct HeadLayout {
  HeadLayout(const ModelSpec& spec, const RunShape& shape);

  std::int64_t chunk = 0;             ///< tokens
  Bytes norm = 0;                     ///< (chunk, H) activation
  Bytes mean = 0, rstd = 0, loss = 0; ///< (chunk) fp32
  Bytes logits = 0;                   ///< (chunk, V) fp32
  Bytes dNorm = 0;                    ///< (chunk, H) activation
  Bytes bytes = 0;
};

/// Bytes of the compact embedding gradients of a micro-batch, which leave through the workspace: rows (min(V, T), H)
/// fp32, then learned positions (context, H) fp32.
struct EmbeddingGradientLayout {
  EmbeddingGradientLayout(const ModelSpec& spec, const RunShape& shape);
  Bytes positions = 0; ///< offset
  Bytes bytes = 0;
};

/// Rows of the embedding table that one micro-batch can use at most, and all of a step.
std::int64_t embeddingRows(const ModelSpec& spec, const RunShape& shape);
std::int64_t embeddingRowsOfStep(const ModelSpec& spec, const RunShape& shape);

} // namespace millrace

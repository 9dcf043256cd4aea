#include "plan/head_layout.h"

#include <algorithm>

namespace millrace {

HeadLayout::HeadLayout(const ModelSpec& spec, const RunShape& shape)
    : chunk(std::min(shape.headChunk, shape.tokens())) {
  const auto place = [this](Bytes& offset, Bytes size) {
    offset = bytes;
    bytes += alignUp(size);
  };
  const Bytes activations = chunk * spec.hidden * bytesPerElement(shape.activationType());
  place(norm, activations);
  place(mean, chunk * 4);
  place(rstd, chunk * 4);
  place(loss, chunk * 4);
  place(logits, chunk * spec.vocabulary * 4);
  if (shape.training) place(dNorm, activations);
}

EmbeddingGradientLayout::EmbeddingGradientLayout(const ModelSpec& spec, const RunShape& shape) {
  positions = alignUp(embeddingRows(spec, shape) * spec.hidden * 4);
  bytes = positions + (spec.learnedPositions ? alignUp(shape.context * spec.hidden * 4) : 0);
}

std::int64_t embeddingRows(const ModelSpec& spec, const RunShape& shape) {
  return std::min(spec.vocabulary, shape.tokens());
}

std::int64_t embeddingRowsOfStep(const ModelSpec& spec, const RunShape& shape) {
  return std::min(spec.vocabulary, shape.tokens() * shape.microBatches);
}

} // namespace millrace

#include "train/head_program.h"

#include "ops/ops.h"
#include "plan/stream_unit.h"

#include <algorithm>
#include <cassert>

namespace millrace {

HeadProgram::HeadProgram(const ModelSpec& spec, const RunShape& shape)
    : m_spec(spec), m_shape(shape), m_tf32(shape.precision == Precision::Tf32), m_layout(spec, shape) {
  const std::vector<BlockSpec> blocks = blocksOf(spec);
  const StreamUnit unit = unitsOf(blocks).back();
  m_normBlock = blocks[unit.blocks[0]];
  m_matrixBlock = blocks[unit.blocks[1]];
}

struct HeadProgram::Chunk {
  TensorView norm, mean, rstd, loss, logits;
};

HeadProgram::Chunk HeadProgram::forwardChunk(Stream& stream, const Blocks& weights, const TensorView& x,
                                             std::byte* workspace) const {
  const std::int64_t n = x.shape[0];
  assert(n <= m_layout.chunk);
  Chunk chunk;
  chunk.norm = TensorView(workspace + m_layout.norm, m_shape.activationType(), Shape{n, m_spec.hidden});
  chunk.mean = TensorView(workspace + m_layout.mean, DType::F32, Shape{n});
  chunk.rstd = TensorView(workspace + m_layout.rstd, DType::F32, Shape{n});
  chunk.loss = TensorView(workspace + m_layout.loss, DType::F32, Shape{n});
  chunk.logits = TensorView(workspace + m_layout.logits, DType::F32, Shape{n, m_spec.vocabulary});
  const auto epsilon = static_cast<float>(m_spec.normEpsilon);
  const auto offset = static_cast<float>(m_spec.normWeightOffset);
  const TensorView weight = roleView(m_normBlock, weights.norm, Role::NormWeight);
  if (m_spec.norm == NormKind::Rms)
    ops::rmsNorm(stream, {x, weight, chunk.norm, chunk.rstd, epsilon, offset});
  else
    ops::layerNorm(stream, {x, weight, roleView(m_normBlock, weights.norm, Role::NormBias), chunk.norm, chunk.mean,
                            chunk.rstd, epsilon});
  ops::matmul(stream, {.a = chunk.norm,
                       .b = roleView(m_matrixBlock, weights.matrix, Role::Table),
                       .c = chunk.logits,
                       .transposeB = true,
                       .bias = {},
                       .residual = {},
                       .tf32 = m_tf32});
  if (m_spec.logitSoftcap > 0) ops::softcap(stream, {chunk.logits, static_cast<float>(m_spec.logitSoftcap)});
  return chunk;
}

void HeadProgram::loss(Stream& stream, const Blocks& weights, const TensorView& x, const TensorView& targets,
                       const TensorView& lossSum, std::byte* workspace) const {
  for (std::int64_t begin = 0; begin < x.shape[0]; begin += m_layout.chunk) {
    const std::int64_t n = std::min(m_layout.chunk, x.shape[0] - begin);
    const Chunk chunk = forwardChunk(stream, weights, x.rows(begin, n), workspace);
    ops::crossEntropy(
        stream,
        {.logits = chunk.logits, .targets = targets.rows(begin, n), .loss = chunk.loss, .dLogits = {}, .scale = 1});
    ops::sum(stream, {chunk.loss, lossSum});
  }
}

void HeadProgram::lossAndGradients(Stream& stream, const Blocks& weights, const Blocks& gradients, const TensorView& x,
                                   const TensorView& targets, const TensorView& lossSum, float scale,
                                   std::byte* workspace) const {
  const TensorView matrix = roleView(m_matrixBlock, weights.matrix, Role::Table);
  const TensorView matrixGradient = roleView(m_matrixBlock, gradients.matrix, Role::Table);
  const TensorView normWeight = roleView(m_normBlock, weights.norm, Role::NormWeight);
  const TensorView normGradient = roleView(m_normBlock, gradients.norm, Role::NormWeight);
  for (std::int64_t begin = 0; begin < x.shape[0]; begin += m_layout.chunk) {
    const std::int64_t n = std::min(m_layout.chunk, x.shape[0] - begin);
    const TensorView input = x.rows(begin, n);
    const Chunk chunk = forwardChunk(stream, weights, input, workspace);
    // Gradients take the place of the logits; narrower ones the front of each row.
    TensorView dLogits = chunk.logits;
    if (m_shape.precision == Precision::Bf16) {
      dLogits.dtype = DType::BF16;
      dLogits.strides[0] = 2 * m_spec.vocabulary;
    }
    ops::crossEntropy(stream, {.logits = chunk.logits,
                               .targets = targets.rows(begin, n),
                               .loss = chunk.loss,
                               .dLogits = dLogits,
                               .scale = scale,
                               .softcap = static_cast<float>(m_spec.logitSoftcap)});
    ops::sum(stream, {chunk.loss, lossSum});
    ops::matmul(stream, {.a = dLogits,
                         .b = chunk.norm,
                         .c = matrixGradient,
                         .transposeA = true,
                         .accumulate = true,
                         .bias = {},
                         .residual = {},
                         .tf32 = m_tf32});
    const TensorView dNorm(workspace + m_layout.dNorm, m_shape.activationType(), Shape{n, m_spec.hidden});
    ops::matmul(stream, {.a = dLogits, .b = matrix, .c = dNorm, .bias = {}, .residual = {}, .tf32 = m_tf32});
    if (m_spec.norm == NormKind::Rms)
      ops::rmsNormBackward(
          stream,
          {dNorm, input, normWeight, chunk.rstd, dNorm, normGradient, {}, static_cast<float>(m_spec.normWeightOffset)});
    else
      ops::layerNormBackward(stream, {dNorm,
                                      input,
                                      normWeight,
                                      chunk.mean,
                                      chunk.rstd,
                                      dNorm,
                                      normGradient,
                                      roleView(m_normBlock, gradients.norm, Role::NormBias),
                                      {}});
    ops::convert(stream, {dNorm, input});
  }
}

TensorView HeadProgram::logits(Stream& stream, const Blocks& weights, const TensorView& x, std::byte* workspace) const {
  return forwardChunk(stream, weights, x, workspace).logits;
}

} // namespace millrace

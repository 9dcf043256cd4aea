#include "train/layer_program.h"

#include "ops/ops.h"

namespace millrace {

namespace {

/// (T, W) with T = rows * context, as (rows, context, heads, D): columns [first, first + heads * D) by head.
TensorView headsOf(const TensorView& x, std::int64_t rows, std::int64_t first, std::int64_t heads,
                   std::int64_t headDim) {
  TensorView view = x.columns(first, heads * headDim).splitLast(heads, headDim);
  const std::int64_t context = view.shape[0] / rows;
  const std::int64_t stride = view.strides[0];
  view.shape = Shape{rows, context, heads, headDim};
  view.strides = {context * stride, stride, headDim, 1};
  return view;
}

TensorView headsOf(const TensorView& x, std::int64_t first, std::int64_t heads, std::int64_t headDim) {
  return x.columns(first, heads * headDim).splitLast(heads, headDim);
}

} // namespace

struct LayerProgram::Bound {
  const LayerLayout& layout;
  LayerLayout::Pass pass;
  std::byte* record;
  std::byte* workspace;
  const SequenceViews& sequence;
  const LayerSpec& layer;

  TensorView norm1Weight, norm1Bias, norm2Weight, norm2Bias, qNormWeight, kNormWeight;
  TensorView norm1WeightGradient, norm1BiasGradient, norm2WeightGradient, norm2BiasGradient, qNormGradient,
      kNormGradient;
  Linear qkv, out, up, down;

  TensorView operator[](LayerTensor tensor) const {
    return layout.view(tensor, pass, record, workspace, sequence.rows, sequence.context);
  }
};

LayerProgram::LayerProgram(const ModelSpec& spec, const RunShape& shape)
    : m_spec(spec), m_shape(shape), m_layout(spec, shape) {
  for (const BlockSpec& block : blocksOf(spec)) {
    if (block.kind == BlockKind::Attention) m_attentionBlocks.push_back(block);
    if (block.kind == BlockKind::Mlp) m_mlpBlocks.push_back(block);
  }
}

LayerProgram::Bound LayerProgram::bind(std::int64_t layer, const Blocks& weights, const Blocks& gradients,
                                       const SequenceViews& sequence, LayerLayout::Pass pass, std::byte* record,
                                       std::byte* workspace) const {
  const auto index = static_cast<std::size_t>(layer);
  const BlockSpec& attention = m_attentionBlocks[index];
  const BlockSpec& mlp = m_mlpBlocks[index];
  const auto linear = [&](const BlockSpec& block, const TensorView& w, const TensorView& g, Role weight, Role bias) {
    return Linear{roleView(block, w, weight), roleView(block, w, bias), roleView(block, g, weight),
                  roleView(block, g, bias),   m_spec.conv1dWeights,     m_shape.precision == Precision::Tf32};
  };
  Bound b{m_layout, pass, record, workspace, sequence, m_spec.layers[index], {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
          {},       {},   {},     {},        {}};
  b.norm1Weight = roleView(attention, weights.attention, Role::NormWeight);
  b.norm1Bias = roleView(attention, weights.attention, Role::NormBias);
  b.norm2Weight = roleView(mlp, weights.mlp, Role::NormWeight);
  b.norm2Bias = roleView(mlp, weights.mlp, Role::NormBias);
  b.qNormWeight = roleView(attention, weights.attention, Role::QNormWeight);
  b.kNormWeight = roleView(attention, weights.attention, Role::KNormWeight);
  b.norm1WeightGradient = roleView(attention, gradients.attention, Role::NormWeight);
  b.norm1BiasGradient = roleView(attention, gradients.attention, Role::NormBias);
  b.norm2WeightGradient = roleView(mlp, gradients.mlp, Role::NormWeight);
  b.norm2BiasGradient = roleView(mlp, gradients.mlp, Role::NormBias);
  b.qNormGradient = roleView(attention, gradients.attention, Role::QNormWeight);
  b.kNormGradient = roleView(attention, gradients.attention, Role::KNormWeight);
  b.qkv = linear(attention, weights.attention, gradients.attention, Role::QkvWeight, Role::QkvBias);
  b.out = linear(attention, weights.attention, gradients.attention, Role::OutWeight, Role::OutBias);
  b.up = linear(mlp, weights.mlp, gradients.mlp, Role::UpWeight, Role::UpBias);
  b.down = linear(mlp, weights.mlp, gradients.mlp, Role::DownWeight, Role::DownBias);
  return b;
}

void LayerProgram::norm(Stream& stream, const TensorView& x, const TensorView& weight, const TensorView& bias,
                        const TensorView& y, const TensorView& mean, const TensorView& rstd) const {
  const auto epsilon = static_cast<float>(m_spec.normEpsilon);
  if (m_spec.norm == NormKind::Rms)
    ops::rmsNorm(stream, {x, weight, y, rstd, epsilon});
  else
    ops::layerNorm(stream, {x, weight, bias, y, mean, rstd, epsilon});
}

void LayerProgram::normBackward(Stream& stream, const TensorView& dY, const TensorView& x, const TensorView& weight,
                                const TensorView& mean, const TensorView& rstd, const TensorView& dX,
                                const TensorView& dWeight, const TensorView& dBias, const TensorView& dResidual) const {
  if (m_spec.norm == NormKind::Rms)
    ops::rmsNormBackward(stream, {dY, x, weight, rstd, dX, dWeight, dResidual});
  else
    ops::layerNormBackward(stream, {dY, x, weight, mean, rstd, dX, dWeight, dBias, dResidual});
}

/// Stages 1 to 3: norm, projection, head norms, rotation.
void LayerProgram::projectQkv(Stream& stream, const Bound& b) const {
  using enum LayerTensor;
  const AttentionSpec& a = m_spec.attention;
  norm(stream, b[Input], b.norm1Weight, b.norm1Bias, b[Norm1], b[Mean1], b[Rstd1]);
  b.qkv.forward(stream, b[Norm1], b[Qkv]);
  TensorView rotated = headsOf(b[Qkv], 0, a.heads + a.kvHeads, a.headDim);
  if (a.qkNorm) {
    const auto epsilon = static_cast<float>(m_spec.normEpsilon);
    ops::rmsNorm(stream, {headsOf(b[Qkv], 0, a.heads, a.headDim), b.qNormWeight, headsOf(b[Qk], 0, a.heads, a.headDim),
                          b[QRstd], epsilon});
    ops::rmsNorm(stream, {headsOf(b[Qkv], a.heads * a.headDim, a.kvHeads, a.headDim), b.kNormWeight,
                          headsOf(b[Qk], a.heads * a.headDim, a.kvHeads, a.headDim), b[KRstd], epsilon});
    rotated = headsOf(b[Qk], 0, a.heads + a.kvHeads, a.headDim);
  }
  if (b.sequence.rope.valid()) ops::rope(stream, {rotated, b.sequence.rope, b.sequence.positions, false});
}

/// Stage 4.
void LayerProgram::attend(Stream& stream, const Bound& b) const {
  using enum LayerTensor;
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t rows = b.sequence.rows;
  const TensorView& qk = a.qkNorm ? b[Qk] : b[Qkv];
  ops::attention(stream, {.q = headsOf(qk, rows, 0, a.heads, a.headDim),
                          .k = headsOf(qk, rows, a.heads * a.headDim, a.kvHeads, a.headDim),
                          .v = headsOf(b[Qkv], rows, (a.heads + a.kvHeads) * a.headDim, a.kvHeads, a.headDim),
                          .out = headsOf(b[AttentionOut], rows, 0, a.heads, a.headDim),
                          .lse = b[Lse],
                          .documentStart = b.sequence.documentStart,
                          .scale = static_cast<float>(b.layer.attentionScale),
                          .window = b.layer.window});
}

/// Stage 5.
void LayerProgram::attentionOutput(Stream& stream, const Bound& b) const {
  using enum LayerTensor;
  b.out.forward(stream, b[AttentionOut], b[Mid], b[Input]);
}

/// Stages 6 to 8.
void LayerProgram::mlpInner(Stream& stream, const Bound& b) const {
  using enum LayerTensor;
  norm(stream, b[Mid], b.norm2Weight, b.norm2Bias, b[Norm2], b[Mean2], b[Rstd2]);
  b.up.forward(stream, b[Norm2], b[Up]);
  if (m_spec.mlp.gated)
    ops::gatedActivation(stream, {b[Up], b[Inner], m_spec.mlp.activation});
  else
    ops::activation(stream, {b[Up], b[Inner], m_spec.mlp.activation});
}

void LayerProgram::forward(Stream& stream, std::int64_t layer, const Blocks& weights, const SequenceViews& sequence,
                           std::byte* record, std::byte* workspace, const TensorView& out) const {
  const Bound b = bind(layer, weights, {}, sequence, LayerLayout::Pass::Forward, record, workspace);
  projectQkv(stream, b);
  attend(stream, b);
  attentionOutput(stream, b);
  mlpInner(stream, b);
  b.down.forward(stream, b[LayerTensor::Inner], out, b[LayerTensor::Mid]); // stage 9
}

void LayerProgram::backward(Stream& stream, std::int64_t layer, const Blocks& weights, const Blocks& gradients,
                            const SequenceViews& sequence, std::byte* record, std::byte* workspace,
                            const TensorView& carrier) const {
  const Bound b = bind(layer, weights, gradients, sequence, LayerLayout::Pass::Backward, record, workspace);
  if (m_shape.recompute != Recompute::None) projectQkv(stream, b);
  if (m_shape.recompute == Recompute::Full) {
    attend(stream, b);
    attentionOutput(stream, b);
  }
  if (m_shape.recompute != Recompute::None) mlpInner(stream, b);
  mlpBackward(stream, b, carrier);
  attentionBackward(stream, b, carrier);
}

/// Stages 10 to 13.
void LayerProgram::mlpBackward(Stream& stream, const Bound& b, const TensorView& carrier) const {
  using enum LayerTensor;
  b.down.backwardInput(stream, carrier, b[DInner]);
  b.down.backwardWeight(stream, carrier, b[Inner]);
  TensorView dUp = b[Up];
  if (m_spec.mlp.gated) {
    ops::gatedActivationBackward(stream, {b[DInner], b[Up], dUp, m_spec.mlp.activation});
  } else {
    dUp = b[DInner];
    ops::activationBackward(stream, {b[DInner], b[Up], dUp, m_spec.mlp.activation});
  }
  b.up.backwardInput(stream, dUp, b[DMid]);
  b.up.backwardWeight(stream, dUp, b[Norm2]);
  normBackward(stream, b[DMid], b[Mid], b.norm2Weight, b[Mean2], b[Rstd2], b[DMid], b.norm2WeightGradient,
               b.norm2BiasGradient, carrier);
}

/// Stages 14 to 18.
void LayerProgram::attentionBackward(Stream& stream, const Bound& b, const TensorView& carrier) const {
  using enum LayerTensor;
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t rows = b.sequence.rows;
  const std::int64_t keys = a.heads * a.headDim;
  const std::int64_t values = (a.heads + a.kvHeads) * a.headDim;
  b.out.backwardInput(stream, b[DMid], b[DAttentionOut]);
  b.out.backwardWeight(stream, b[DMid], b[AttentionOut]);
  const TensorView& qk = a.qkNorm ? b[Qk] : b[Qkv];
  ops::attentionBackward(stream, {.dOut = headsOf(b[DAttentionOut], rows, 0, a.heads, a.headDim),
                                  .q = headsOf(qk, rows, 0, a.heads, a.headDim),
                                  .k = headsOf(qk, rows, keys, a.kvHeads, a.headDim),
                                  .v = headsOf(b[Qkv], rows, values, a.kvHeads, a.headDim),
                                  .out = headsOf(b[AttentionOut], rows, 0, a.heads, a.headDim),
                                  .lse = b[Lse],
                                  .documentStart = b.sequence.documentStart,
                                  .dQ = headsOf(b[DQkv], rows, 0, a.heads, a.headDim),
                                  .dK = headsOf(b[DQkv], rows, keys, a.kvHeads, a.headDim),
                                  .dV = headsOf(b[DQkv], rows, values, a.kvHeads, a.headDim),
                                  .scratch = b[AttentionScratch],
                                  .scale = static_cast<float>(b.layer.attentionScale),
                                  .window = b.layer.window});
  if (b.sequence.rope.valid())
    ops::rope(stream,
              {headsOf(b[DQkv], 0, a.heads + a.kvHeads, a.headDim), b.sequence.rope, b.sequence.positions, true});
  if (a.qkNorm) {
    const TensorView dQ = headsOf(b[DQkv], 0, a.heads, a.headDim);
    const TensorView dK = headsOf(b[DQkv], keys, a.kvHeads, a.headDim);
    ops::rmsNormBackward(
        stream, {dQ, headsOf(b[Qkv], 0, a.heads, a.headDim), b.qNormWeight, b[QRstd], dQ, b.qNormGradient, {}});
    ops::rmsNormBackward(
        stream, {dK, headsOf(b[Qkv], keys, a.kvHeads, a.headDim), b.kNormWeight, b[KRstd], dK, b.kNormGradient, {}});
  }
  b.qkv.backwardInput(stream, b[DQkv], b[DNorm1]);
  b.qkv.backwardWeight(stream, b[DQkv], b[Norm1]);
  normBackward(stream, b[DNorm1], b[Input], b.norm1Weight, b[Mean1], b[Rstd1], carrier, b.norm1WeightGradient,
               b.norm1BiasGradient, b[DMid]);
}

void LayerProgram::forwardCached(Stream& stream, std::int64_t layer, const Blocks& weights,
                                 const SequenceViews& sequence, const TensorView& cache, std::int64_t cached,
                                 std::byte* record, std::byte* workspace, const TensorView& out) const {
  using enum LayerTensor;
  const Bound b = bind(layer, weights, {}, sequence, LayerLayout::Pass::Forward, record, workspace);
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t rows = sequence.rows;
  const std::int64_t context = sequence.context;
  const std::int64_t keys = a.heads * a.headDim;
  const std::int64_t width = a.kvHeads * a.headDim;
  projectQkv(stream, b);
  const TensorView& qk = a.qkNorm ? b[Qk] : b[Qkv];
  for (std::int64_t row = 0; row < rows; ++row) {
    const TensorView fresh = cache.rows(row, 1).reshaped({cache.shape[1], cache.shape[2]}).rows(cached, context);
    ops::convert(stream, {qk.columns(keys, width).rows(row * context, context), fresh.columns(0, width)});
    ops::convert(stream,
                 {b[Qkv].columns(keys + width, width).rows(row * context, context), fresh.columns(width, width)});
  }
  const auto cachedHeads = [&](std::int64_t first) {
    TensorView view = cache.columns(first, width).splitLast(a.kvHeads, a.headDim);
    view.shape = Shape{rows, cached + context, a.kvHeads, a.headDim};
    return view;
  };
  ops::attention(stream, {.q = headsOf(qk, rows, 0, a.heads, a.headDim),
                          .k = cachedHeads(0),
                          .v = cachedHeads(width),
                          .out = headsOf(b[AttentionOut], rows, 0, a.heads, a.headDim),
                          .lse = b[Lse],
                          .documentStart = sequence.documentStart,
                          .scale = static_cast<float>(b.layer.attentionScale),
                          .window = b.layer.window});
  attentionOutput(stream, b);
  mlpInner(stream, b);
  b.down.forward(stream, b[Inner], out, b[Mid]);
}

} // namespace millrace

#include "train/layer_program.h"

#include "ops/ops.h"
#include "train/expert_layer.h"

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

LayerProgram::LayerProgram(const ModelSpec& spec, const RunShape& shape)
    : m_spec(spec), m_shape(shape), m_layout(spec, shape) {
  for (const BlockSpec& block : blocksOf(spec)) {
    if (block.kind == BlockKind::Attention) m_attentionBlocks.push_back(block);
    if (block.kind == BlockKind::Mlp) m_mlpBlocks.push_back(block);
  }
}

BoundLayer LayerProgram::bind(std::int64_t layer, const Blocks& weights, const Blocks& gradients,
                              const SequenceViews& sequence, LayerLayout::Pass pass, std::byte* record,
                              std::byte* workspace) const {
  const auto index = static_cast<std::size_t>(layer);
  const BlockSpec& attention = m_attentionBlocks[index];
  const BlockSpec& mlp = m_mlpBlocks[index];
  const bool tf32 = m_shape.precision == Precision::Tf32;
  const auto linear = [&](const BlockSpec& block, const TensorView& w, const TensorView& g, Role weight, Role bias) {
    return Linear{roleView(block, w, weight), roleView(block, w, bias), roleView(block, g, weight),
                  roleView(block, g, bias),   m_spec.conv1dWeights,     tf32};
  };
  const auto attentionNorm = [&](Role weight) {
    return NormParameters{
        roleView(attention, weights.attention, weight), roleView(attention, weights.attention, Role::NormBias),
        roleView(attention, gradients.attention, weight), roleView(attention, gradients.attention, Role::NormBias)};
  };
  const auto mlpNorm = [&](Role weight) {
    return NormParameters{roleView(mlp, weights.mlp, weight), roleView(mlp, weights.mlp, Role::NormBias),
                          roleView(mlp, gradients.mlp, weight), roleView(mlp, gradients.mlp, Role::NormBias)};
  };
  return {.layout = m_layout,
          .pass = pass,
          .record = record,
          .workspace = workspace,
          .sequence = sequence,
          .layer = m_spec.layers[index],
          .norm1 = attentionNorm(Role::NormWeight),
          .norm2 = mlpNorm(Role::NormWeight),
          .attentionNorm = attentionNorm(Role::PostNormWeight),
          .mlpNorm = mlpNorm(Role::PostNormWeight),
          .qNorm = attentionNorm(Role::QNormWeight),
          .kNorm = attentionNorm(Role::KNormWeight),
          .qkv = linear(attention, weights.attention, gradients.attention, Role::QkvWeight, Role::QkvBias),
          .out = linear(attention, weights.attention, gradients.attention, Role::OutWeight, Role::OutBias),
          .up = linear(mlp, weights.mlp, gradients.mlp, Role::UpWeight, Role::UpBias),
          .down = linear(mlp, weights.mlp, gradients.mlp, Role::DownWeight, Role::DownBias),
          .experts = {.router = {roleView(mlp, weights.mlp, Role::RouterWeight),
                                 {},
                                 roleView(mlp, gradients.mlp, Role::RouterWeight),
                                 {},
                                 false,
                                 tf32},
                      .up = roleView(mlp, weights.mlp, Role::UpWeight),
                      .down = roleView(mlp, weights.mlp, Role::DownWeight),
                      .upGradient = roleView(mlp, gradients.mlp, Role::UpWeight),
                      .downGradient = roleView(mlp, gradients.mlp, Role::DownWeight)}};
}

void LayerProgram::norm(Stream& stream, const NormParameters& of, const TensorView& x, const TensorView& y,
                        const TensorView& mean, const TensorView& rstd) const {
  const auto epsilon = static_cast<float>(m_spec.normEpsilon);
  if (m_spec.norm == NormKind::Rms)
    ops::rmsNorm(stream, {x, of.weight, y, rstd, epsilon, static_cast<float>(m_spec.normWeightOffset)});
  else
    ops::layerNorm(stream, {x, of.weight, of.bias, y, mean, rstd, epsilon});
}

void LayerProgram::normBackward(Stream& stream, const NormParameters& of, const TensorView& dY, const TensorView& x,
                                const TensorView& mean, const TensorView& rstd, const TensorView& dX,
                                const TensorView& dResidual) const {
  if (m_spec.norm == NormKind::Rms)
    ops::rmsNormBackward(stream, {dY, x, of.weight, rstd, dX, of.weightGradient, dResidual,
                                  static_cast<float>(m_spec.normWeightOffset)});
  else
    ops::layerNormBackward(stream, {dY, x, of.weight, mean, rstd, dX, of.weightGradient, of.biasGradient, dResidual});
}

/// out = residual + norm(branch).
void LayerProgram::addNormed(Stream& stream, const NormParameters& of, const TensorView& branch,
                             const TensorView& residual, const TensorView& rstd, const TensorView& out) const {
  ops::rmsNorm(stream, {branch, of.weight, out, rstd, static_cast<float>(m_spec.normEpsilon),
                        static_cast<float>(m_spec.normWeightOffset), residual});
}

/// Stages 1 to 3: norm, projection, norms of query and key, rotation.
void LayerProgram::projectQkv(Stream& stream, const BoundLayer& b) const {
  using enum LayerTensor;
  const AttentionSpec& a = m_spec.attention;
  if (m_spec.preNorms) norm(stream, b.norm1, b[Input], b[Norm1], b[Mean1], b[Rstd1]);
  b.qkv.forward(stream, b.attentionInput(), b[Qkv]);
  if (a.qkNorm != QkNorm::None) {
    norm(stream, b.qNorm, normedQueries(b[Qkv]), normedQueries(b[Qk]), {}, b[QRstd]);
    norm(stream, b.kNorm, normedKeys(b[Qkv]), normedKeys(b[Qk]), {}, b[KRstd]);
  }
  if (b.sequence.rope.valid())
    ops::rope(stream,
              {headsOf(b.qk(), 0, a.heads + a.kvHeads, a.headDim), b.sequence.rope, b.sequence.positions, false});
}

/// What the norms of q and k each go over: (T, heads, D), or (T, 1, all of it).
TensorView LayerProgram::normedQueries(const TensorView& qkv) const {
  const AttentionSpec& a = m_spec.attention;
  if (a.qkNorm == QkNorm::Head) return headsOf(qkv, 0, a.heads, a.headDim);
  return headsOf(qkv, 0, 1, a.heads * a.headDim);
}
TensorView LayerProgram::normedKeys(const TensorView& qkv) const {
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t first = a.heads * a.headDim;
  if (a.qkNorm == QkNorm::Head) return headsOf(qkv, first, a.kvHeads, a.headDim);
  return headsOf(qkv, first, 1, a.kvHeads * a.headDim);
}

/// Stage 4.
void LayerProgram::attend(Stream& stream, const BoundLayer& b) const {
  using enum LayerTensor;
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t rows = b.sequence.rows;
  ops::attention(stream, {.q = headsOf(b.qk(), rows, 0, a.heads, a.headDim),
                          .k = headsOf(b.qk(), rows, a.heads * a.headDim, a.kvHeads, a.headDim),
                          .v = headsOf(b[Qkv], rows, (a.heads + a.kvHeads) * a.headDim, a.kvHeads, a.headDim),
                          .out = headsOf(b[AttentionOut], rows, 0, a.heads, a.headDim),
                          .lse = b[Lse],
                          .documentStart = b.sequence.documentStart,
                          .scale = static_cast<float>(b.layer.attentionScale),
                          .window = b.layer.window,
                          .softcap = static_cast<float>(a.softcap)});
}

/// Stage 5; without a norm behind it that is the middle of the residual already.
void LayerProgram::attentionOutput(Stream& stream, const BoundLayer& b) const {
  using enum LayerTensor;
  if (m_spec.postNorms)
    b.out.forward(stream, b[AttentionOut], b[AttentionBranch]);
  else
    b.out.forward(stream, b[AttentionOut], b[Mid], b[Input]);
}

/// Stage 6.
void LayerProgram::addAttention(Stream& stream, const BoundLayer& b) const {
  using enum LayerTensor;
  if (m_spec.postNorms)
    addNormed(stream, b.attentionNorm, b[AttentionBranch], b[Input], b[AttentionBranchRstd], b[Mid]);
}

/// Stages 7 to 9.
void LayerProgram::mlpInner(Stream& stream, const BoundLayer& b) const {
  using enum LayerTensor;
  if (m_spec.preNorms) norm(stream, b.norm2, b[Mid], b[Norm2], b[Mean2], b[Rstd2]);
  if (m_spec.experts.count > 0)
    expertsUp(stream, b, m_spec.experts);
  else
    b.up.forward(stream, b.mlpInput(), b[Up]);
  if (m_spec.mlp.gated)
    ops::gatedActivation(stream, {b[Up], b[Inner], m_spec.mlp.activation});
  else
    ops::activation(stream, {b[Up], b[Inner], m_spec.mlp.activation});
}

/// Stages 10 and 11.
void LayerProgram::mlpOutput(Stream& stream, const BoundLayer& b, const TensorView& out) const {
  using enum LayerTensor;
  if (m_spec.experts.count > 0) {
    expertsOutput(stream, b, out);
  } else if (m_spec.postNorms) {
    b.down.forward(stream, b[Inner], b[MlpBranch]);
    addNormed(stream, b.mlpNorm, b[MlpBranch], b[Mid], b[MlpBranchRstd], out);
  } else {
    b.down.forward(stream, b[Inner], out, b[Mid]);
  }
}

void LayerProgram::forward(Stream& stream, std::int64_t layer, const Blocks& weights, const SequenceViews& sequence,
                           std::byte* record, std::byte* workspace, const TensorView& out) const {
  const BoundLayer b = bind(layer, weights, {}, sequence, LayerLayout::Pass::Forward, record, workspace);
  projectQkv(stream, b);
  attend(stream, b);
  attentionOutput(stream, b);
  addAttention(stream, b);
  mlpInner(stream, b);
  mlpOutput(stream, b, out);
}

void LayerProgram::backward(Stream& stream, std::int64_t layer, const Blocks& weights, const Blocks& gradients,
                            const SequenceViews& sequence, std::byte* record, std::byte* workspace,
                            const TensorView& carrier) const {
  using enum LayerTensor;
  const BoundLayer b = bind(layer, weights, gradients, sequence, LayerLayout::Pass::Backward, record, workspace);
  if (m_shape.recompute != Recompute::None) projectQkv(stream, b);
  if (m_shape.recompute == Recompute::Full) {
    attend(stream, b);
    attentionOutput(stream, b);
  }
  if (m_shape.recompute != Recompute::None) {
    addAttention(stream, b);
    mlpInner(stream, b);
    if (m_spec.postNorms) b.down.forward(stream, b[Inner], b[MlpBranch]);
  }
  mlpBackward(stream, b, carrier);
  attentionBackward(stream, b, carrier);
}

/// Stages 12 to 16.
void LayerProgram::mlpBackward(Stream& stream, const BoundLayer& b, const TensorView& carrier) const {
  using enum LayerTensor;
  TensorView dBranch = carrier;
  if (m_spec.postNorms) {
    dBranch = b[DMlpBranch];
    normBackward(stream, b.mlpNorm, carrier, b[MlpBranch], {}, b[MlpBranchRstd], dBranch, {});
  }
  const bool experts = m_spec.experts.count > 0;
  if (experts) {
    expertsDownBackward(stream, b, dBranch);
  } else {
    b.down.backwardInput(stream, dBranch, b[DInner]);
    b.down.backwardWeight(stream, dBranch, b[Inner]);
  }
  TensorView dUp = b[Up];
  if (m_spec.mlp.gated) {
    ops::gatedActivationBackward(stream, {b[DInner], b[Up], dUp, m_spec.mlp.activation});
  } else {
    dUp = b[DInner];
    ops::activationBackward(stream, {b[DInner], b[Up], dUp, m_spec.mlp.activation});
  }
  if (experts) {
    expertsUpBackward(stream, b, m_spec.experts);
  } else {
    b.up.backwardInput(stream, dUp, b[DMid], m_spec.preNorms ? TensorView() : carrier);
    b.up.backwardWeight(stream, dUp, b.mlpInput());
  }
  if (m_spec.preNorms) normBackward(stream, b.norm2, b[DMid], b[Mid], b[Mean2], b[Rstd2], b[DMid], carrier);
}

/// Stages 17 to 22.
void LayerProgram::attentionBackward(Stream& stream, const BoundLayer& b, const TensorView& carrier) const {
  using enum LayerTensor;
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t rows = b.sequence.rows;
  const std::int64_t keys = a.heads * a.headDim;
  const std::int64_t values = (a.heads + a.kvHeads) * a.headDim;
  TensorView dBranch = b[DMid];
  if (m_spec.postNorms) {
    dBranch = b[DAttentionBranch];
    normBackward(stream, b.attentionNorm, b[DMid], b[AttentionBranch], {}, b[AttentionBranchRstd], dBranch, {});
  }
  b.out.backwardInput(stream, dBranch, b[DAttentionOut]);
  b.out.backwardWeight(stream, dBranch, b[AttentionOut]);
  ops::attentionBackward(stream, {.dOut = headsOf(b[DAttentionOut], rows, 0, a.heads, a.headDim),
                                  .q = headsOf(b.qk(), rows, 0, a.heads, a.headDim),
                                  .k = headsOf(b.qk(), rows, keys, a.kvHeads, a.headDim),
                                  .v = headsOf(b[Qkv], rows, values, a.kvHeads, a.headDim),
                                  .out = headsOf(b[AttentionOut], rows, 0, a.heads, a.headDim),
                                  .lse = b[Lse],
                                  .documentStart = b.sequence.documentStart,
                                  .dQ = headsOf(b[DQkv], rows, 0, a.heads, a.headDim),
                                  .dK = headsOf(b[DQkv], rows, keys, a.kvHeads, a.headDim),
                                  .dV = headsOf(b[DQkv], rows, values, a.kvHeads, a.headDim),
                                  .scratch = b[AttentionScratch],
                                  .scale = static_cast<float>(b.layer.attentionScale),
                                  .window = b.layer.window,
                                  .softcap = static_cast<float>(a.softcap)});
  if (b.sequence.rope.valid())
    ops::rope(stream,
              {headsOf(b[DQkv], 0, a.heads + a.kvHeads, a.headDim), b.sequence.rope, b.sequence.positions, true});
  if (a.qkNorm != QkNorm::None) {
    const TensorView dQ = normedQueries(b[DQkv]), dK = normedKeys(b[DQkv]);
    normBackward(stream, b.qNorm, dQ, normedQueries(b[Qkv]), {}, b[QRstd], dQ, {});
    normBackward(stream, b.kNorm, dK, normedKeys(b[Qkv]), {}, b[KRstd], dK, {});
  }
  const TensorView dInput = m_spec.preNorms ? b[DNorm1] : carrier;
  b.qkv.backwardInput(stream, b[DQkv], dInput, m_spec.preNorms ? TensorView() : b[DMid]);
  b.qkv.backwardWeight(stream, b[DQkv], b.attentionInput());
  if (m_spec.preNorms) normBackward(stream, b.norm1, dInput, b[Input], b[Mean1], b[Rstd1], carrier, b[DMid]);
}

void LayerProgram::forwardCached(Stream& stream, std::int64_t layer, const Blocks& weights,
                                 const SequenceViews& sequence, const TensorView& cache, std::int64_t cached,
                                 std::byte* record, std::byte* workspace, const TensorView& out) const {
  using enum LayerTensor;
  const BoundLayer b = bind(layer, weights, {}, sequence, LayerLayout::Pass::Forward, record, workspace);
  const AttentionSpec& a = m_spec.attention;
  const std::int64_t rows = sequence.rows;
  const std::int64_t context = sequence.context;
  const std::int64_t keys = a.heads * a.headDim;
  const std::int64_t width = a.kvHeads * a.headDim;
  projectQkv(stream, b);
  const TensorView qk = b.qk();
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
                          .window = b.layer.window,
                          .softcap = static_cast<float>(a.softcap)});
  attentionOutput(stream, b);
  addAttention(stream, b);
  mlpInner(stream, b);
  mlpOutput(stream, b, out);
}

} // namespace millrace

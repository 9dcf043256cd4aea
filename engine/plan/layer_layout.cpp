#include "plan/layer_layout.h"

#include "plan/arena.h"

#include <algorithm>
#include <vector>

namespace millrace {

namespace {

using enum LayerTensor;

/// Stages of the layer program in order (train/layer_program.cpp); 1 to 11 are forward, of which backward computes
/// again what it needs.
struct Lifetime {
  LayerTensor tensor;
  int made;        ///< stage that computes it
  int forwardLast; ///< last use in forward
  int backwardLast;
};

constexpr int backwardOnly = 0, forwardOnly = 0;
constexpr Lifetime lifetimes[] = {
    {Mean1, 1, 1, 22},
    {Rstd1, 1, 1, 22},
    {Norm1, 1, 2, 21},
    {Qkv, 2, 4, 20},
    {QRstd, 3, 3, 20},
    {KRstd, 3, 3, 20},
    {Qk, 3, 4, 19},
    {AttentionOut, 4, 5, 19},
    {Lse, 4, 4, 19},
    {AttentionBranch, 5, 6, 17},
    {AttentionBranchRstd, 6, 6, 17},
    {Mid, 5, 11, 16},
    {Mean2, 7, 7, 16},
    {Rstd2, 7, 7, 16},
    {Norm2, 7, 8, 15},
    {RouterLogits, 8, 8, 15},
    {Experts, 8, 8, 15},
    {ExpertWeights, 8, 11, 15},
    {ExpertRows, 8, 11, 15},
    {RowTokens, 8, 8, 13},
    {RowWeights, 8, 8, 13},
    {ExpertBegins, 8, 10, 15},
    {ExpertInput, 8, 8, 15},
    {Up, 8, 9, 15},
    {Inner, 9, 10, 13},
    {MlpBranch, 10, 11, 12},
    {MlpBranchRstd, 11, 11, 12},
    {ExpertOutput, 10, 11, forwardOnly},
    {DMlpBranch, 12, backwardOnly, 13},
    {DExpertOutput, 13, backwardOnly, 13},
    {DInner, 13, backwardOnly, 15},
    {DRowWeights, 13, backwardOnly, 15},
    {DExpertInput, 15, backwardOnly, 15},
    {DRouterLogits, 15, backwardOnly, 15},
    {DMid, 15, backwardOnly, 22},
    {DAttentionBranch, 17, backwardOnly, 18},
    {DAttentionOut, 18, backwardOnly, 19},
    {AttentionScratch, 19, backwardOnly, 19},
    {DQkv, 19, backwardOnly, 21},
    {DNorm1, 21, backwardOnly, 22},
};

/// Selective: what costs attention or its output projection to have again. With a norm behind the projection the middle
/// of the residual is cheap to make of what went into it, which that norm's gradient needs as well. The statistics of
/// the last norm are always kept: what else it makes is needed no more.
bool keptBy(Recompute policy, LayerTensor tensor, bool postNorms) {
  if (tensor == MlpBranchRstd) return true;
  switch (policy) {
  case Recompute::Full:
    return false;
  case Recompute::Selective:
    return tensor == AttentionOut || tensor == Lse || tensor == (postNorms ? AttentionBranch : Mid);
  case Recompute::None:
    return tensor < ExpertOutput;
  }
  return false;
}

} // namespace

LayerLayout::LayerLayout(const ModelSpec& spec, const RunShape& shape)
    : m_chosen(spec.experts.chosen), m_heads(spec.attention.heads), m_headDim(spec.attention.headDim) {
  const AttentionSpec& attention = spec.attention;
  const DType activation = shape.activationType();
  const std::int64_t qWidth = attention.heads * attention.headDim;
  const std::int64_t kWidth = attention.kvHeads * attention.headDim;
  const bool means = spec.norm == NormKind::Layer;
  const std::int64_t preNormed = spec.preNorms ? spec.hidden : 0;
  const std::int64_t branch = spec.postNorms ? spec.hidden : 0;
  const bool headNorms = attention.qkNorm == QkNorm::Head, qkNorms = attention.qkNorm != QkNorm::None;
  const auto set = [&](LayerTensor tensor, std::int64_t width, DType dtype) {
    at(tensor).width = width;
    at(tensor).dtype = dtype;
  };
  set(Input, spec.hidden, activation);
  set(Mean1, means ? 1 : 0, DType::F32);
  set(Rstd1, spec.preNorms ? 1 : 0, DType::F32);
  set(Norm1, preNormed, activation);
  set(Qkv, qWidth + 2 * kWidth, activation);
  set(QRstd, headNorms ? attention.heads : qkNorms ? 1 : 0, DType::F32);
  set(KRstd, headNorms ? attention.kvHeads : qkNorms ? 1 : 0, DType::F32);
  set(Qk, qkNorms ? qWidth + kWidth : 0, activation);
  set(AttentionOut, qWidth, activation);
  set(Lse, attention.heads, DType::F32);
  set(AttentionBranch, branch, activation);
  set(AttentionBranchRstd, spec.postNorms ? 1 : 0, DType::F32);
  set(Mid, spec.hidden, activation);
  set(Mean2, means ? 1 : 0, DType::F32);
  set(Rstd2, spec.preNorms ? 1 : 0, DType::F32);
  set(Norm2, preNormed, activation);
  const ExpertsSpec& experts = spec.experts;
  const std::int64_t mlps = experts.count > 0 ? experts.chosen : 1; // that a token goes through
  set(RouterLogits, experts.count, DType::F32);
  for (const LayerTensor tensor : {Experts, ExpertRows, RowTokens}) set(tensor, experts.chosen, DType::I32);
  for (const LayerTensor tensor : {ExpertWeights, RowWeights, DRowWeights}) set(tensor, experts.chosen, DType::F32);
  at(ExpertBegins).fixed = experts.count > 0 ? experts.count + 1 : 0;
  at(ExpertBegins).dtype = DType::I32;
  for (const LayerTensor tensor : {ExpertInput, ExpertOutput, DExpertOutput, DExpertInput})
    set(tensor, experts.chosen * spec.hidden, activation);
  set(DRouterLogits, experts.count, activation);
  set(Up, mlps * (spec.mlp.gated ? 2 * spec.mlp.inner : spec.mlp.inner), activation);
  set(Inner, mlps * spec.mlp.inner, activation);
  set(MlpBranch, branch, activation);
  set(MlpBranchRstd, spec.postNorms ? 1 : 0, DType::F32);
  set(DMlpBranch, branch, activation);
  set(DInner, mlps * spec.mlp.inner, activation);
  set(DMid, spec.hidden, activation);
  set(DAttentionBranch, branch, activation);
  set(DAttentionOut, qWidth, activation);
  set(AttentionScratch, attention.heads * (attention.headDim + 1), DType::F32);
  set(DQkv, qWidth + 2 * kWidth, activation);
  set(DNorm1, preNormed, activation);

  const auto bytesOf = [&](LayerTensor tensor) {
    return alignUp((at(tensor).width * shape.tokens() + at(tensor).fixed) * bytesPerElement(at(tensor).dtype));
  };
  at(Input).recordOffset = 0;
  m_inputBytes = bytesOf(Input);
  m_recordBytes = m_inputBytes;
  if (shape.training) {
    for (const Lifetime& life : lifetimes) {
      if (!keptBy(shape.recompute, life.tensor, spec.postNorms) || !present(life.tensor)) continue;
      at(life.tensor).recordOffset = m_recordBytes;
      m_recordBytes += bytesOf(life.tensor);
    }
  }
  for (const Pass pass : {Pass::Forward, Pass::Backward}) {
    if (pass == Pass::Backward && !shape.training) continue;
    std::vector<Temporary> temporaries;
    std::vector<LayerTensor> tensors;
    for (const Lifetime& life : lifetimes) {
      const int last = pass == Pass::Forward ? life.forwardLast : life.backwardLast;
      if (last == backwardOnly || kept(life.tensor) || !present(life.tensor)) continue;
      temporaries.push_back({bytesOf(life.tensor), life.made, last});
      tensors.push_back(life.tensor);
    }
    const ArenaPacking packing = packArena(temporaries);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      at(tensors[i]).workspaceOffset[static_cast<std::size_t>(pass)] = packing.offsets[i];
    m_workspaceBytes = std::max(m_workspaceBytes, packing.bytes);
  }
}

TensorView LayerLayout::view(LayerTensor tensor, Pass pass, std::byte* record, std::byte* workspace, std::int64_t rows,
                             std::int64_t context) const {
  const Entry& entry = at(tensor);
  if (!present(tensor)) return {};
  const Bytes offset = entry.workspaceOffset[static_cast<std::size_t>(pass)];
  std::byte* data = nullptr;
  if (entry.recordOffset >= 0)
    data = record + entry.recordOffset;
  else if (offset >= 0)
    data = workspace + offset;
  else
    return {};
  return TensorView(data, entry.dtype, shapeOf(tensor, rows, context));
}

Shape LayerLayout::shapeOf(LayerTensor tensor, std::int64_t rows, std::int64_t context) const {
  const Entry& entry = at(tensor);
  const std::int64_t tokens = rows * context;
  switch (tensor) {
  case Lse:
    return {rows, m_heads, context};
  case AttentionScratch:
    return {rows, context, m_heads, m_headDim + 1};
  case Mean1:
  case Rstd1:
  case AttentionBranchRstd:
  case Mean2:
  case Rstd2:
  case MlpBranchRstd:
    return {tokens};
  case RowTokens:
  case RowWeights:
  case DRowWeights:
    return {tokens * entry.width};
  case ExpertBegins:
    return {entry.fixed};
  case Up:
  case Inner:
  case DInner:
    if (m_chosen == 0) return {tokens, entry.width};
    [[fallthrough]];
  case ExpertInput:
  case ExpertOutput:
  case DExpertOutput:
  case DExpertInput:
    return {tokens * m_chosen, entry.width / m_chosen};
  default:
    return {tokens, entry.width};
  }
}

} // namespace millrace

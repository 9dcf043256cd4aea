#include "plan/layer_layout.h"

#include "plan/arena.h"

#include <algorithm>
#include <vector>

namespace millrace {

namespace {

using enum LayerTensor;

/// Stages of the layer program in order (train/layer_program.cpp); 1 to 9 are forward, and 1 to 8 again where backward
/// recomputes.
struct Lifetime {
  LayerTensor tensor;
  int made;        ///< stage that computes it
  int forwardLast; ///< last use in forward
  int backwardLast;
};

constexpr int backwardOnly = 0;
constexpr Lifetime lifetimes[] = {
    {Mean1, 1, 1, 18},
    {Rstd1, 1, 1, 18},
    {Norm1, 1, 2, 17},
    {Qkv, 2, 4, 16},
    {QRstd, 3, 3, 16},
    {KRstd, 3, 3, 16},
    {Qk, 3, 4, 15},
    {AttentionOut, 4, 5, 15},
    {Lse, 4, 4, 15},
    {Mid, 5, 9, 13},
    {Mean2, 6, 6, 13},
    {Rstd2, 6, 6, 13},
    {Norm2, 6, 7, 12},
    {Up, 7, 8, 12},
    {Inner, 8, 9, 10},
    {DInner, 10, backwardOnly, 12},
    {DMid, 12, backwardOnly, 18},
    {DAttentionOut, 14, backwardOnly, 15},
    {AttentionScratch, 15, backwardOnly, 15},
    {DQkv, 15, backwardOnly, 17},
    {DNorm1, 17, backwardOnly, 18},
};

bool keptBy(Recompute policy, LayerTensor tensor) {
  switch (policy) {
  case Recompute::Full:
    return false;
  case Recompute::Selective:
    return tensor == AttentionOut || tensor == Lse || tensor == Mid;
  case Recompute::None:
    return tensor < DInner;
  }
  return false;
}

} // namespace

LayerLayout::LayerLayout(const ModelSpec& spec, const RunShape& shape)
    : m_heads(spec.attention.heads), m_headDim(spec.attention.headDim) {
  const AttentionSpec& attention = spec.attention;
  const DType activation = shape.activationType();
  const std::int64_t qWidth = attention.heads * attention.headDim;
  const std::int64_t kWidth = attention.kvHeads * attention.headDim;
  const bool means = spec.norm == NormKind::Layer;
  const auto set = [&](LayerTensor tensor, std::int64_t width, DType dtype) {
    at(tensor).width = width;
    at(tensor).dtype = dtype;
  };
  set(Input, spec.hidden, activation);
  set(Mean1, means ? 1 : 0, DType::F32);
  set(Rstd1, 1, DType::F32);
  set(Norm1, spec.hidden, activation);
  set(Qkv, qWidth + 2 * kWidth, activation);
  set(QRstd, attention.qkNorm ? attention.heads : 0, DType::F32);
  set(KRstd, attention.qkNorm ? attention.kvHeads : 0, DType::F32);
  set(Qk, attention.qkNorm ? qWidth + kWidth : 0, activation);
  set(AttentionOut, qWidth, activation);
  set(Lse, attention.heads, DType::F32);
  set(Mid, spec.hidden, activation);
  set(Mean2, means ? 1 : 0, DType::F32);
  set(Rstd2, 1, DType::F32);
  set(Norm2, spec.hidden, activation);
  set(Up, spec.mlp.gated ? 2 * spec.mlp.inner : spec.mlp.inner, activation);
  set(Inner, spec.mlp.inner, activation);
  set(DInner, spec.mlp.inner, activation);
  set(DMid, spec.hidden, activation);
  set(DAttentionOut, qWidth, activation);
  set(AttentionScratch, attention.heads * (attention.headDim + 1), DType::F32);
  set(DQkv, qWidth + 2 * kWidth, activation);
  set(DNorm1, spec.hidden, activation);

  const auto bytesOf = [&](LayerTensor tensor) {
    return alignUp(at(tensor).width * shape.tokens() * bytesPerElement(at(tensor).dtype));
  };
  at(Input).recordOffset = 0;
  m_inputBytes = bytesOf(Input);
  m_recordBytes = m_inputBytes;
  if (shape.training) {
    for (const Lifetime& life : lifetimes) {
      if (!keptBy(shape.recompute, life.tensor) || at(life.tensor).width == 0) continue;
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
      if (last == backwardOnly || kept(life.tensor) || at(life.tensor).width == 0) continue;
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
  if (entry.width == 0) return {};
  const Bytes offset = entry.workspaceOffset[static_cast<std::size_t>(pass)];
  std::byte* data = nullptr;
  if (entry.recordOffset >= 0)
    data = record + entry.recordOffset;
  else if (offset >= 0)
    data = workspace + offset;
  else
    return {};
  switch (tensor) {
  case Lse:
    return TensorView(data, entry.dtype, Shape{rows, m_heads, context});
  case AttentionScratch:
    return TensorView(data, entry.dtype, Shape{rows, context, m_heads, m_headDim + 1});
  case Mean1:
  case Rstd1:
  case Mean2:
  case Rstd2:
    return TensorView(data, entry.dtype, Shape{rows * context});
  default:
    return TensorView(data, entry.dtype, Shape{rows * context, entry.width});
  }
}

} // namespace millrace

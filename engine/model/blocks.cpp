#include "model/blocks.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

struct Named {
  std::string name;
  Shape shape;
};

/// Lays the tensors of one block out: each group starts aligned, the tensors inside a group touch.
class BlockBuilder {
 public:
  BlockBuilder(BlockKind kind, std::int64_t layer, std::string name) {
    m_block.kind = kind;
    m_block.layer = layer;
    m_block.name = std::move(name);
  }

  /// One tensor that is a role by itself.
  void add(Role role, std::string name, Shape shape) { add(role, shape, {{std::move(name), shape}}); }

  /// Several tensors, one after the other, that are one matrix to compute with.
  void add(Role role, Shape fused, std::vector<Named> tensors) {
    align();
    m_block.roles.push_back({role, fused, m_block.elements});
    for (Named& tensor : tensors) {
      ParameterSpec parameter{std::move(tensor.name), tensor.shape, m_block.elements, tensor.shape.rank() >= 2};
      m_block.elements += parameter.elements();
      m_block.parameters.push_back(std::move(parameter));
    }
  }

  BlockSpec finish() {
    align();
    return std::move(m_block);
  }

 private:
  void align() { m_block.elements = alignUp(m_block.elements, groupAlignment); }

  BlockSpec m_block;
};

/// All but gpt2: RMS norms, separate projections stored (out, in). phi3 stores those fused that are computed with at
/// once.
class LlamaNames {
 public:
  explicit LlamaNames(const ModelSpec& spec) : m_spec(spec) {}

  BlockSpec attention(std::int64_t layer) const {
    const AttentionSpec& a = m_spec.attention;
    const std::int64_t h = m_spec.hidden, q = a.heads * a.headDim, kv = a.kvHeads * a.headDim;
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    const std::string self = prefix + "self_attn.";
    BlockBuilder block(BlockKind::Attention, layer, fmt::format("layers.{}.attention", layer));
    if (m_spec.preNorms) block.add(Role::NormWeight, prefix + "input_layernorm.weight", Shape{h});
    if (m_spec.family == ModelFamily::Phi3)
      block.add(Role::QkvWeight, self + "qkv_proj.weight", Shape{q + 2 * kv, h});
    else
      block.add(Role::QkvWeight, Shape{q + 2 * kv, h},
                {{self + "q_proj.weight", Shape{q, h}},
                 {self + "k_proj.weight", Shape{kv, h}},
                 {self + "v_proj.weight", Shape{kv, h}}});
    if (a.qkvBias)
      block.add(
          Role::QkvBias, Shape{q + 2 * kv},
          {{self + "q_proj.bias", Shape{q}}, {self + "k_proj.bias", Shape{kv}}, {self + "v_proj.bias", Shape{kv}}});
    if (a.qkNorm != QkNorm::None) {
      const bool head = a.qkNorm == QkNorm::Head;
      block.add(Role::QNormWeight, self + "q_norm.weight", Shape{head ? a.headDim : q});
      block.add(Role::KNormWeight, self + "k_norm.weight", Shape{head ? a.headDim : kv});
    }
    block.add(Role::OutWeight, self + "o_proj.weight", Shape{h, q});
    if (a.outBias) block.add(Role::OutBias, self + "o_proj.bias", Shape{h});
    if (m_spec.postNorms) block.add(Role::PostNormWeight, prefix + "post_attention_layernorm.weight", Shape{h});
    return block.finish();
  }

  BlockSpec mlp(std::int64_t layer) const {
    const std::int64_t h = m_spec.hidden, inner = m_spec.mlp.inner;
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    const std::string mlp = prefix + "mlp.";
    BlockBuilder block(BlockKind::Mlp, layer, fmt::format("layers.{}.mlp", layer));
    if (m_spec.preNorms) {
      // What comes after attention is a norm of its output, where there is one, else the one before the MLP.
      const char* name = m_spec.postNorms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight";
      block.add(Role::NormWeight, prefix + name, Shape{h});
    }
    if (m_spec.experts.count > 0) {
      addExperts(block, prefix);
      return block.finish();
    }
    if (m_spec.family == ModelFamily::Phi3)
      block.add(Role::UpWeight, mlp + "gate_up_proj.weight", Shape{2 * inner, h});
    else
      block.add(Role::UpWeight, Shape{2 * inner, h},
                {{mlp + "gate_proj.weight", Shape{inner, h}}, {mlp + "up_proj.weight", Shape{inner, h}}});
    if (m_spec.mlp.bias)
      block.add(Role::UpBias, Shape{2 * inner},
                {{mlp + "gate_proj.bias", Shape{inner}}, {mlp + "up_proj.bias", Shape{inner}}});
    block.add(Role::DownWeight, mlp + "down_proj.weight", Shape{h, inner});
    if (m_spec.mlp.bias) block.add(Role::DownBias, mlp + "down_proj.bias", Shape{h});
    if (m_spec.postNorms) block.add(Role::PostNormWeight, prefix + "post_feedforward_layernorm.weight", Shape{h});
    return block.finish();
  }

  void finalNorm(BlockBuilder& block) const { block.add(Role::NormWeight, "model.norm.weight", Shape{m_spec.hidden}); }

  std::string embedding() const { return "model.embed_tokens.weight"; }

 private:
  /// The matrices of all experts, one after the other, each stored by itself.
  void addExperts(BlockBuilder& block, const std::string& prefix) const {
    const bool mixtral = m_spec.family == ModelFamily::Mixtral;
    const std::int64_t h = m_spec.hidden, inner = m_spec.mlp.inner, count = m_spec.experts.count;
    const std::string mlp = prefix + (mixtral ? "block_sparse_moe." : "mlp.");
    block.add(Role::RouterWeight, mlp + "gate.weight", Shape{count, h});
    std::vector<Named> up, down;
    for (std::int64_t e = 0; e < count; ++e) {
      const std::string expert = fmt::format("{}experts.{}.", mlp, e);
      up.push_back({expert + (mixtral ? "w1.weight" : "gate_proj.weight"), Shape{inner, h}});
      up.push_back({expert + (mixtral ? "w3.weight" : "up_proj.weight"), Shape{inner, h}});
      down.push_back({expert + (mixtral ? "w2.weight" : "down_proj.weight"), Shape{h, inner}});
    }
    block.add(Role::UpWeight, Shape{count, 2 * inner, h}, std::move(up));
    block.add(Role::DownWeight, Shape{count, h, inner}, std::move(down));
  }

  const ModelSpec& m_spec;
};

/// gpt2: layer norms with biases, fused projections stored (in, out).
class Gpt2Names {
 public:
  explicit Gpt2Names(const ModelSpec& spec) : m_spec(spec) {}

  BlockSpec attention(std::int64_t layer) const {
    const std::int64_t h = m_spec.hidden;
    const std::string prefix = fmt::format("transformer.h.{}.", layer);
    BlockBuilder block(BlockKind::Attention, layer, fmt::format("layers.{}.attention", layer));
    block.add(Role::NormWeight, prefix + "ln_1.weight", Shape{h});
    block.add(Role::NormBias, prefix + "ln_1.bias", Shape{h});
    block.add(Role::QkvWeight, prefix + "attn.c_attn.weight", Shape{h, 3 * h});
    block.add(Role::QkvBias, prefix + "attn.c_attn.bias", Shape{3 * h});
    block.add(Role::OutWeight, prefix + "attn.c_proj.weight", Shape{h, h});
    block.add(Role::OutBias, prefix + "attn.c_proj.bias", Shape{h});
    return block.finish();
  }

  BlockSpec mlp(std::int64_t layer) const {
    const std::int64_t h = m_spec.hidden, inner = m_spec.mlp.inner;
    const std::string prefix = fmt::format("transformer.h.{}.", layer);
    BlockBuilder block(BlockKind::Mlp, layer, fmt::format("layers.{}.mlp", layer));
    block.add(Role::NormWeight, prefix + "ln_2.weight", Shape{h});
    block.add(Role::NormBias, prefix + "ln_2.bias", Shape{h});
    block.add(Role::UpWeight, prefix + "mlp.c_fc.weight", Shape{h, inner});
    block.add(Role::UpBias, prefix + "mlp.c_fc.bias", Shape{inner});
    block.add(Role::DownWeight, prefix + "mlp.c_proj.weight", Shape{inner, h});
    block.add(Role::DownBias, prefix + "mlp.c_proj.bias", Shape{h});
    return block.finish();
  }

  void finalNorm(BlockBuilder& block) const {
    block.add(Role::NormWeight, "transformer.ln_f.weight", Shape{m_spec.hidden});
    block.add(Role::NormBias, "transformer.ln_f.bias", Shape{m_spec.hidden});
  }

  std::string embedding() const { return "transformer.wte.weight"; }

 private:
  const ModelSpec& m_spec;
};

template <class Names>
std::vector<BlockSpec> allBlocks(const ModelSpec& spec, const Names& names) {
  const Shape table{spec.vocabulary, spec.hidden};
  std::vector<BlockSpec> blocks;
  blocks.reserve(2 * spec.layers.size() + 4);
  const auto addOne = [&](BlockKind kind, const char* blockName, const std::string& parameter, Shape shape) {
    BlockBuilder block(kind, -1, blockName);
    block.add(Role::Table, parameter, shape);
    blocks.push_back(block.finish());
  };
  addOne(BlockKind::Embedding, "embedding", names.embedding(), table);
  if (spec.learnedPositions)
    addOne(BlockKind::Positions, "positions", "transformer.wpe.weight", Shape{spec.maxPositions, spec.hidden});
  for (std::int64_t layer = 0; layer < static_cast<std::int64_t>(spec.layers.size()); ++layer) {
    blocks.push_back(names.attention(layer));
    blocks.push_back(names.mlp(layer));
  }
  BlockBuilder norm(BlockKind::FinalNorm, -1, "final_norm");
  names.finalNorm(norm);
  blocks.push_back(norm.finish());
  if (!spec.tiedEmbeddings) addOne(BlockKind::Head, "head", "lm_head.weight", table);
  return blocks;
}

} // namespace

std::int64_t BlockSpec::parameterCount() const {
  std::int64_t count = 0;
  for (const ParameterSpec& parameter : parameters) count += parameter.elements();
  return count;
}

const RoleSpec* BlockSpec::find(Role role) const {
  for (const RoleSpec& candidate : roles)
    if (candidate.role == role) return &candidate;
  return nullptr;
}

std::vector<BlockSpec> blocksOf(const ModelSpec& spec) {
  if (spec.family == ModelFamily::Gpt2) return allBlocks(spec, Gpt2Names(spec));
  return allBlocks(spec, LlamaNames(spec));
}

std::int64_t parameterCount(const ModelSpec& spec) {
  std::int64_t count = 0;
  for (const BlockSpec& block : blocksOf(spec)) count += block.parameterCount();
  return count;
}

std::vector<BlockPiece> piecesOf(const BlockSpec& block, std::int64_t first, std::int64_t count) {
  assert(first >= 0 && count >= 0 && first + count <= block.elements);
  std::vector<BlockPiece> pieces;
  for (const ParameterSpec& parameter : block.parameters) {
    const std::int64_t begin = std::max(first, parameter.offset);
    const std::int64_t end = std::min(first + count, parameter.offset + parameter.elements());
    if (begin < end) pieces.push_back({&parameter, begin - parameter.offset, end - begin, begin - first});
  }
  return pieces;
}

std::vector<std::string> checkpointNames(std::string_view name) {
  std::vector<std::string> names{std::string(name)};
  for (const std::string_view prefix : {std::string_view("transformer."), std::string_view("model.")})
    if (name.starts_with(prefix)) names.emplace_back(name.substr(prefix.size()));
  return names;
}

} // namespace millrace

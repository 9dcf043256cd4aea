#include "model/config_import.h"

#include "model/config_keys.h"
#include "model/config_rope.h"
#include "model/family_defaults.h"

#include <algorithm>
#include <cmath>

namespace millrace {

namespace {

void addTokens(Json& config, const ModelSpec& spec) {
  config["bos_token_id"] = spec.bosToken ? Json(*spec.bosToken) : Json(nullptr);
  if (spec.eosTokens.empty())
    config["eos_token_id"] = nullptr;
  else if (spec.eosTokens.size() == 1)
    config["eos_token_id"] = spec.eosTokens.front();
  else
    config["eos_token_id"] = spec.eosTokens;
  config["pad_token_id"] = spec.paddingToken ? Json(*spec.paddingToken) : Json(nullptr);
}

void addGpt2(Json& config, const ModelSpec& spec) {
  config["n_embd"] = spec.hidden;
  config["n_layer"] = spec.layers.size();
  config["n_head"] = spec.attention.heads;
  config["n_inner"] = spec.mlp.inner;
  config["n_positions"] = spec.maxPositions;
  config["activation_function"] = activationName(spec.mlp.activation, spec.family);
  config["layer_norm_epsilon"] = spec.normEpsilon;
  config["attn_pdrop"] = 0.0; // the weights were trained without dropout
  config["embd_pdrop"] = 0.0;
  config["resid_pdrop"] = 0.0;
  const double first = spec.layers.front().attentionScale;
  config["scale_attn_weights"] = first != 1.0 || spec.attention.headDim == 1;
  config["scale_attn_by_inverse_layer_idx"] = spec.layers.size() > 1 && spec.layers[1].attentionScale != first;
}

/// A number whose inverse square root is the scale to the bit: a whole one where there is one, since others take
/// nothing else.
Json scalarOf(double scale) {
  const auto gives = [scale](double number) { return 1.0 / std::sqrt(number) == scale; };
  const double near = 1 / (scale * scale);
  if (const double whole = std::round(near); whole < 1e15 && gives(whole)) return static_cast<std::int64_t>(whole);
  double above = near, below = near;
  for (int step = 0; step < 8 && !gives(above) && !gives(below); ++step) {
    above = std::nextafter(above, HUGE_VAL);
    below = std::nextafter(below, 0.0);
  }
  return gives(below) ? below : above;
}

void addGemma2(Json& config, const ModelSpec& spec) {
  const auto softcap = [](double cap) { return cap > 0 ? Json(cap) : Json(nullptr); };
  config["attn_logit_softcapping"] = softcap(spec.attention.softcap);
  config["final_logit_softcapping"] = softcap(spec.logitSoftcap);
  config["query_pre_attn_scalar"] = scalarOf(spec.layers.front().attentionScale);
}

void addExperts(Json& config, const ModelSpec& spec) {
  const bool qwen = spec.family == ModelFamily::Qwen3Moe;
  config[qwen ? "num_experts" : "num_local_experts"] = spec.experts.count;
  config["num_experts_per_tok"] = spec.experts.chosen;
  config["output_router_logits"] = false; // the weights were trained without an auxiliary loss
  if (!qwen) return;
  config["moe_intermediate_size"] = spec.mlp.inner;
  config["norm_topk_prob"] = spec.experts.normalize;
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = Json::array();
}

void addLlamaLike(Json& config, const ModelSpec& spec) {
  config["hidden_size"] = spec.hidden;
  config["intermediate_size"] = spec.mlp.inner;
  config["num_hidden_layers"] = spec.layers.size();
  config["num_attention_heads"] = spec.attention.heads;
  config["num_key_value_heads"] = spec.attention.kvHeads;
  config["head_dim"] = spec.attention.headDim;
  config["max_position_embeddings"] = spec.maxPositions;
  config[familyDefaults(spec.family).activationKey] = activationName(spec.mlp.activation, spec.family);
  config["rms_norm_eps"] = spec.normEpsilon;
  config["attention_dropout"] = 0.0;
  addRopeToConfig(config, *spec.rope);
  const WindowedLayers windowed = familyDefaults(spec.family).windowed;
  const bool fixedBiases = spec.family == ModelFamily::Qwen2 || windowed == WindowedLayers::All;
  if (!fixedBiases) config["attention_bias"] = spec.attention.qkvBias;
  if (spec.family == ModelFamily::Llama) config["mlp_bias"] = spec.mlp.bias;
  if (spec.family == ModelFamily::Gemma2) addGemma2(config, spec);
  if (spec.experts.count > 0) addExperts(config, spec);
  if (windowed == WindowedLayers::None) return;

  std::int64_t window = 0;
  std::int64_t full = 0; // layers before the first with a window
  Json types = Json::array();
  for (const LayerSpec& layer : spec.layers) {
    window = std::max(window, layer.window);
    if (window == 0) ++full;
    types.push_back(layer.window > 0 ? "sliding_attention" : "full_attention");
  }
  config["sliding_window"] = window > 0 ? Json(window) : Json(nullptr);
  if (spec.family == ModelFamily::Phi3) {
    config["resid_pdrop"] = 0.0; // the weights were trained without dropout
    config["embd_pdrop"] = 0.0;
    config["original_max_position_embeddings"] = spec.maxPositions;
    if (spec.rope->kind == RopeKind::LongRope) {
      config["original_max_position_embeddings"] = spec.rope->originalMaxPositions;
      config["max_position_embeddings"] = spec.rope->extendedPositions;
    }
    return;
  }
  if (windowed == WindowedLayers::All) return;
  if (windowed != WindowedLayers::Switched) config["layer_types"] = std::move(types);
  if (windowed == WindowedLayers::Alternating) return;
  config["use_sliding_window"] = window > 0;
  config["max_window_layers"] = windowed == WindowedLayers::Switched ? 0 : full;
}

const char* architecture(ModelFamily family) {
  switch (family) {
  case ModelFamily::Llama:
    return "LlamaForCausalLM";
  case ModelFamily::Qwen2:
    return "Qwen2ForCausalLM";
  case ModelFamily::Qwen3:
    return "Qwen3ForCausalLM";
  case ModelFamily::Mistral:
    return "MistralForCausalLM";
  case ModelFamily::Gpt2:
    return "GPT2LMHeadModel";
  case ModelFamily::Phi3:
    return "Phi3ForCausalLM";
  case ModelFamily::Olmo2:
    return "Olmo2ForCausalLM";
  case ModelFamily::Gemma:
    return "GemmaForCausalLM";
  case ModelFamily::Gemma2:
    return "Gemma2ForCausalLM";
  case ModelFamily::Mixtral:
    return "MixtralForCausalLM";
  case ModelFamily::Qwen3Moe:
    return "Qwen3MoeForCausalLM";
  }
  return "";
}

} // namespace

Json configFromModelSpec(const ModelSpec& spec, const std::string& dtype) {
  Json config = Json::object();
  config["architectures"] = Json::array({architecture(spec.family)});
  config["model_type"] = familyName(spec.family);
  config["torch_dtype"] = dtype; // the spelling that every version reads
  config["vocab_size"] = spec.vocabulary;
  if (spec.family == ModelFamily::Gpt2)
    addGpt2(config, spec);
  else
    addLlamaLike(config, spec);
  config["initializer_range"] = spec.initializerRange;
  config["tie_word_embeddings"] = spec.tiedEmbeddings;
  config["use_cache"] = true;
  addTokens(config, spec);
  return config;
}

} // namespace millrace

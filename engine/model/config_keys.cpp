#include "model/config_keys.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

constexpr std::array<std::pair<std::string_view, ModelFamily>, 11> families{{
    {"llama", ModelFamily::Llama},
    {"qwen2", ModelFamily::Qwen2},
    {"qwen3", ModelFamily::Qwen3},
    {"mistral", ModelFamily::Mistral},
    {"gpt2", ModelFamily::Gpt2},
    {"phi3", ModelFamily::Phi3},
    {"olmo2", ModelFamily::Olmo2},
    {"gemma", ModelFamily::Gemma},
    {"gemma2", ModelFamily::Gemma2},
    {"mixtral", ModelFamily::Mixtral},
    {"qwen3_moe", ModelFamily::Qwen3Moe},
}};

// gelu_fast and gelu_accurate write the tanh approximation's constants in other forms of the same numbers.
constexpr std::array<std::pair<std::string_view, Activation>, 11> activations{{
    {"silu", Activation::Silu},
    {"swish", Activation::Silu},
    {"gelu", Activation::Gelu},
    {"gelu_python", Activation::Gelu},
    {"gelu_new", Activation::GeluTanh},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"gelu_python_tanh", Activation::GeluTanh},
    {"gelu_fast", Activation::GeluTanh},
    {"gelu_accurate", Activation::GeluTanh},
    {"relu", Activation::Relu},
    {"relu2", Activation::ReluSquared},
}};

constexpr std::array harmless{
    // bookkeeping of transformers and of tools around it
    "_name_or_path", "name_or_path", "_commit_hash", "_num_labels", "architectures", "model_type",
    "transformers_version", "transformers.js_config", "unsloth_fixed", "unsloth_version", "is_llama_config",
    "tokenizer_class", "prefix", "task_specific_params", "language", "license",
    // classification heads, other libraries, other kinds of model
    "id2label", "label2id", "num_labels", "finetuning_task", "classifier_dropout", "summary_type", "summary_use_proj",
    "summary_activation", "summary_proj_to_labels", "summary_first_dropout", "predict_special_tokens", "n_special",
    "is_decoder", "cross_attention_hidden_size", "tie_encoder_decoder", "decoder_start_token_id", "xla_device",
    "tf_legacy_loss", "sep_token_id", "mask_token_id", "cls_token_id", "unk_token_id",
    // how transformers computes or returns, not what
    "use_cache", "output_attentions", "_output_attentions", "output_hidden_states", "output_past", "return_dict",
    "use_return_dict", "torchscript", "use_bfloat16", "attn_implementation", "_attn_implementation",
    "_attn_implementation_internal", "_attn_implementation_autoset", "_flash_attn_2_enabled", "experts_implementation",
    "_experts_implementation", "gradient_checkpointing", "chunk_size_feed_forward", "tie_last_hidden_states",
    "pretraining_tp", "reorder_and_upcast_attn", "n_ctx", "max_sequence_length", "model_max_length", "use_flash_attn",
    "use_flash_attention",
    // generation
    "max_length", "max_new_tokens", "min_length", "min_new_tokens", "do_sample", "early_stopping", "num_beams",
    "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty",
    "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences",
    "output_scores", "return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values",
    "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens", "epsilon_cutoff", "eta_cutoff",
    "encoder_repetition_penalty", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "assistant_confidence_threshold", "assistant_lookbehind", "target_lookbehind", "cache_implementation"};

struct ForeignKey {
  const char* key;
  const char* why;
  std::vector<Json> neutral;
  std::vector<ModelFamily> except = {}; ///< the families that read it
};

const std::vector<ForeignKey>& foreignKeys() {
  static const char* other = "belongs to mathematics that this family's implementation here does not have";
  static const char* quantized = "says that the weights are quantized; use the model with its original float weights";
  static const char* experts = "is of a mixture of experts, which this family is not";
  static const std::vector<ModelFamily> mixtures{ModelFamily::Mixtral, ModelFamily::Qwen3Moe};
  static const std::vector<ForeignKey> keys{
      {"quantization_config", quantized, {}},
      {"quantization", quantized, {}},
      {"compression_config", quantized, {}},
      {"auto_map",
       "names program code that comes with the model, which is never run; where the code only repeats the family that "
       "model_type names, remove auto_map from the file to use what is built in",
       {Json::object()}},
      {"is_encoder_decoder", "says encoder-decoder; only decoders are implemented", {false}},
      {"add_cross_attention", "asks for cross-attention, which is not implemented", {false}},
      {"problem_type", "asks for a classification or regression loss; only language modelling is implemented", {}},
      {"peft_config", "is of an adapter; merge the adapter into its model first", {Json::object()}},
      {"peft_type", "is of an adapter; merge the adapter into its model first", {}},
      {"per_layer_config", "overrides single layers, which is not implemented", {Json::object()}},
      {"pruned_heads", "removes attention heads, which is not implemented", {Json::object()}},
      {"attn_logit_softcapping", other, {}, {ModelFamily::Gemma2}},
      {"final_logit_softcapping", other, {}, {ModelFamily::Gemma2}},
      {"query_pre_attn_scalar", other, {}, {ModelFamily::Gemma2}},
      {"use_bidirectional_attention", "lets tokens see later ones, which is not implemented", {false}},
      {"attention_multiplier", other, {}},
      {"embedding_multiplier", other, {1}},
      {"residual_multiplier", other, {1}},
      {"logits_scaling", other, {1}},
      {"logit_scale", other, {1}},
      {"clip_qkv", other, {}},
      {"use_qk_norm", other, {false}},
      {"qk_norm", other, {false}},
      {"qk_layernorm", other, {false}},
      {"no_rope_layers", other, {}},
      {"attention_chunk_size", other, {}},
      {"alibi", other, {false}},
      {"parallel_attn", other, {false}},
      {"use_parallel_residual", other, {false}},
      {"rope_interleaved", "pairs neighbouring elements, which is not implemented", {false}},
      {"use_mrope", "asks for positions in several dimensions, which is not implemented", {false}},
      {"hidden_dropout", "is dropout, which is not implemented", {0}},
      {"residual_dropout", "is dropout, which is not implemented", {0}},
      {"num_experts", experts, {0}, mixtures},
      {"num_local_experts", experts, {0}, mixtures},
      {"n_routed_experts", experts, {0}},
  };
  return keys;
}

template <class Table>
std::string names(const Table& table) {
  std::vector<std::string_view> result;
  for (const auto& [name, value] : table) result.push_back(name);
  return fmt::format("{}", fmt::join(result, ", "));
}

} // namespace

std::string_view familyName(ModelFamily family) {
  for (const auto& [name, value] : families)
    if (value == family) return name;
  return "";
}

std::optional<ModelFamily> familyNamed(std::string_view name) {
  for (const auto& [candidate, value] : families)
    if (candidate == name) return value;
  return std::nullopt;
}

std::string supportedFamilies() {
  return names(families);
}

std::optional<Activation> activationNamed(std::string_view name) {
  for (const auto& [candidate, value] : activations)
    if (candidate == name) return value;
  return std::nullopt;
}

std::string_view activationName(Activation activation, ModelFamily family) {
  if (activation == Activation::GeluTanh) return family == ModelFamily::Gpt2 ? "gelu_new" : "gelu_pytorch_tanh";
  for (const auto& [name, value] : activations)
    if (value == activation) return name;
  return "";
}

std::string supportedActivations() {
  return names(activations);
}

bool isNull(const Json& config, const char* key) {
  const auto entry = config.find(key);
  return entry != config.end() && entry->is_null();
}

void ignoreHarmlessKeys(JsonReader& reader) {
  for (const char* key : harmless) reader.ignore(key);
}

void refuseForeignKeys(JsonReader& reader, ModelFamily family) {
  for (const ForeignKey& foreign : foreignKeys())
    if (std::find(foreign.except.begin(), foreign.except.end(), family) == foreign.except.end())
      refuseUnless(reader, foreign.key, foreign.neutral, foreign.why);
}

void refuseUnless(JsonReader& reader, const std::string& key, const std::vector<Json>& neutral,
                  const std::string& why) {
  if (!reader.has(key)) return;
  const Json& value = reader.value(key);
  if (std::find(neutral.begin(), neutral.end(), value) != neutral.end()) return;
  std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > 40) shown = shown.substr(0, 40) + "...";
  reader.problem(key, fmt::format("is {}: it {}", shown, why));
}

} // namespace millrace

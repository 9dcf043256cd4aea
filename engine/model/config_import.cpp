#include "model/config_import.h"

#include "model/blocks.h"
#include "model/config_keys.h"
#include "model/config_rope.h"
#include "model/config_windows.h"
#include "model/family_defaults.h"
#include "model/foreign_models.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace {

namespace {

// Limits that no model comes near and that keep every product of sizes below 2^62.
constexpr std::int64_t maximumVocabulary = std::int64_t{1} << 24;
constexpr std::int64_t maximumHidden = std::int64_t{1} << 20;
constexpr std::int64_t maximumInner = std::int64_t{1} << 24;
constexpr std::int64_t maximumLayers = std::int64_t{1} << 13;
constexpr std::int64_t maximumHeads = std::int64_t{1} << 14;
constexpr std::int64_t maximumHeadDim = std::int64_t{1} << 12;
constexpr std::int64_t maximumProjection = std::int64_t{1} << 22;
constexpr std::int64_t maximumExperts = 1024;                       // as many as the routing kernels know
constexpr std::int64_t maximumExpertsOfAll = std::int64_t{1} << 17; // layers together: each has tensors of its own
constexpr std::int64_t maximumParameters = std::int64_t{1} << 50;

class Importer {
 public:
  Importer(const Json& config, std::string source, std::vector<std::string>* warnings)
      : m_config(config), m_source(std::move(source)), m_warnings(warnings), m_reader(config, m_source) {}

  Result<ModelSpec> run() {
    MILLRACE_CHECK(m_reader.status());
    MILLRACE_CHECK(readFamily());
    // First of all, because they say best what kind of model it is.
    refuseForeignKeys(m_reader, m_spec.family);
    MILLRACE_CHECK(m_reader.status());
    ignoreHarmlessKeys(m_reader);
    if (m_spec.family == ModelFamily::Gpt2)
      readGpt2();
    else
      readLlamaLike();
    readCommon();
    MILLRACE_CHECK(m_reader.status());
    if (m_spec.family != ModelFamily::Gpt2) MILLRACE_CHECK(readRope());
    if (Status known = m_reader.finish(); !known) {
      known.error().message +=
          " (a key that is not known may change the mathematics; if it changes nothing, remove it)";
      return tl::unexpected<Error>(std::move(known.error()));
    }
    if (const std::int64_t count = parameterCount(m_spec); count > maximumParameters)
      return badInput(fmt::format("{}: the sizes give {} parameters, at most {} are possible", m_source,
                                  formatCount(count), formatCount(maximumParameters)));
    return std::move(m_spec);
  }

 private:
  bool isNull(const char* key) const { return millrace::isNull(m_config, key); }

  void warn(std::string text) {
    if (m_warnings) m_warnings->push_back(fmt::format("{}: {}", m_source, text));
  }

  Status readFamily() {
    const std::string name = m_reader.text("model_type", "");
    MILLRACE_CHECK(m_reader.status());
    const auto family = familyNamed(name);
    if (!family) {
      return badInput(fmt::format("{}: model_type {}, expected one of: {}", m_source,
                                  name.empty() ? "is missing" : fmt::format("is '{}'", name.substr(0, 60)),
                                  supportedFamilies()));
    }
    m_spec.family = *family;
    m_defaults = familyDefaults(*family);
    return {};
  }

  std::int64_t size(const char* key, std::int64_t fallback, std::int64_t maximum) {
    return m_reader.integer(key, fallback, 1, maximum);
  }

  /// A size that another key may say too.
  std::int64_t size(const char* key, const char* alias, std::int64_t fallback, std::int64_t maximum) {
    const std::int64_t other = size(alias, fallback, maximum);
    const std::int64_t value = size(key, other, maximum);
    if (m_reader.has(alias) && value != other)
      m_reader.problem(alias, fmt::format("is {} but {} is {}: remove the one that is wrong", other, key, value));
    return value;
  }

  /// A key that this family does not read: accepted when it says what holds anyway.
  void mustBe(const char* key, std::int64_t actual) {
    refuseUnless(m_reader, key, {actual}, fmt::format("is not read by this family, which has {} here", actual));
  }

  void readActivation() {
    const char* primary = m_defaults.activationKey;
    const char* fallback = m_defaults.activation;
    const auto named = [&](const char* key, const std::string& name) {
      auto activation = activationNamed(name);
      // Published with the exact function's name, meaning the approximation, as transformers reads it too.
      if (m_spec.family == ModelFamily::Gemma && activation == Activation::Gelu) activation = Activation::GeluTanh;
      if (!activation)
        m_reader.problem(
            key, fmt::format("is '{}', which is not implemented; implemented are: {}", name, supportedActivations()));
      return activation.value_or(Activation::Silu);
    };
    m_spec.mlp.activation = named(primary, m_reader.text(primary, fallback));
    for (const char* key : {"hidden_act", "hidden_activation", "activation_function"})
      if (m_reader.has(key) && named(key, m_reader.text(key, fallback)) != m_spec.mlp.activation)
        m_reader.problem(key, fmt::format("differs from {}, which is what this family reads", primary));
  }

  void readEpsilon(const char* primary) {
    m_spec.normEpsilon = m_reader.number(primary, m_defaults.epsilon, 0, 1);
    for (const char* key : {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_eps", "norm_epsilon"})
      if (m_reader.number(key, m_spec.normEpsilon, 0, 1) != m_spec.normEpsilon)
        m_reader.problem(key, fmt::format("differs from {}, which is what this family reads", primary));
  }

  void noDropout(const char* key, double fallback) {
    const double rate = m_reader.number(key, fallback, 0, 1);
    if (rate != 0) warn(fmt::format("{} is {}: dropout is not applied in training here", key, rate));
  }

  void readGpt2() {
    m_spec.norm = NormKind::Layer;
    m_spec.learnedPositions = true;
    m_spec.conv1dWeights = true;
    m_spec.vocabulary = size("vocab_size", m_defaults.vocabulary, maximumVocabulary);
    m_spec.hidden = size("n_embd", "hidden_size", m_defaults.hidden, maximumHidden);
    m_spec.maxPositions = size("n_positions", "max_position_embeddings", m_defaults.positions, maximumPositions);
    const std::int64_t layers = size("n_layer", "num_hidden_layers", m_defaults.layers, maximumLayers);
    AttentionSpec& attention = m_spec.attention;
    attention.heads = size("n_head", "num_attention_heads", m_defaults.heads, maximumHeads);
    attention.kvHeads = attention.heads;
    attention.qkvBias = attention.outBias = true;
    if (m_spec.hidden % attention.heads != 0)
      m_reader.problem("n_head",
                       fmt::format("is {}, expected a divisor of n_embd, which is {}", attention.heads, m_spec.hidden));
    attention.headDim = m_spec.hidden / attention.heads;
    mustBe("head_dim", attention.headDim);
    mustBe("num_key_value_heads", attention.heads);
    m_spec.mlp.gated = false;
    m_spec.mlp.bias = true;
    m_spec.mlp.inner = size("n_inner", 4 * m_spec.hidden, maximumInner);
    mustBe("intermediate_size", m_spec.mlp.inner);
    readActivation();
    readEpsilon("layer_norm_epsilon");
    noDropout("attn_pdrop", 0.1);
    noDropout("embd_pdrop", 0.1);
    noDropout("resid_pdrop", 0.1);

    const bool scaled = m_reader.boolean("scale_attn_weights", true);
    const bool byLayer = m_reader.boolean("scale_attn_by_inverse_layer_idx", false);
    m_spec.layers.resize(static_cast<std::size_t>(layers));
    for (std::size_t i = 0; i < m_spec.layers.size(); ++i) {
      double scale = scaled ? 1.0 / std::sqrt(static_cast<double>(attention.headDim)) : 1.0;
      if (byLayer) scale /= static_cast<double>(i + 1);
      m_spec.layers[i].attentionScale = scale;
    }
    for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "sliding_window",
                            "layer_types", "max_window_layers", "attention_dropout"})
      refuseUnless(m_reader, key, {}, "is not of this family");
    for (const char* key : {"attention_bias", "mlp_bias"})
      refuseUnless(m_reader, key, {true}, "is not of this family, which always has biases");
    refuseUnless(m_reader, "use_sliding_window", {false}, "is not of this family");
  }

  void readLlamaLike() {
    const ModelFamily family = m_spec.family;
    m_spec.vocabulary = size("vocab_size", m_defaults.vocabulary, maximumVocabulary);
    m_spec.hidden = size("hidden_size", m_defaults.hidden, maximumHidden);
    m_spec.maxPositions = size("max_position_embeddings", m_defaults.positions, maximumPositions);
    m_spec.layers.resize(static_cast<std::size_t>(size("num_hidden_layers", m_defaults.layers, maximumLayers)));
    if (m_defaults.experts > 0)
      readExperts();
    else
      m_spec.mlp.inner = size("intermediate_size", m_defaults.inner, maximumInner);
    readHeads();
    readActivation();
    readEpsilon("rms_norm_eps");
    noDropout("attention_dropout", 0);
    for (const char* key : {"resid_pdrop", "embd_pdrop"})
      if (family == ModelFamily::Phi3) noDropout(key, 0);
    readBiases();
    if (family == ModelFamily::Qwen3 || family == ModelFamily::Qwen3Moe) m_spec.attention.qkNorm = QkNorm::Head;
    for (LayerSpec& layer : m_spec.layers)
      layer.attentionScale = 1.0 / std::sqrt(static_cast<double>(m_spec.attention.headDim));
    readWindows(m_reader, m_config, m_defaults, m_spec.layers);
    if (family == ModelFamily::Olmo2) {
      m_spec.attention.qkNorm = QkNorm::Projection;
      m_spec.preNorms = false;
      m_spec.postNorms = true;
    }
    if (family == ModelFamily::Gemma || family == ModelFamily::Gemma2) {
      m_spec.normWeightOffset = 1;
      m_spec.embeddingScale = std::sqrt(static_cast<double>(m_spec.hidden));
    }
    if (family == ModelFamily::Gemma2) readGemma2();
  }

  void readExperts() {
    const bool qwen = m_spec.family == ModelFamily::Qwen3Moe;
    ExpertsSpec& experts = m_spec.experts;
    const char* key = qwen ? "num_experts" : "num_local_experts";
    experts.count = size(key, qwen ? "num_local_experts" : "num_experts", m_defaults.experts, maximumExperts);
    experts.chosen = size("num_experts_per_tok", m_defaults.chosenExperts, maximumExperts);
    if (experts.chosen > experts.count)
      m_reader.problem("num_experts_per_tok",
                       fmt::format("is {}, expected at most {}, which is {}", experts.chosen, key, experts.count));
    const auto layers = static_cast<std::int64_t>(m_spec.layers.size());
    if (experts.count * layers > maximumExpertsOfAll)
      m_reader.problem(key, fmt::format("times num_hidden_layers is {}, at most {} is possible",
                                        formatCount(experts.count * layers), formatCount(maximumExpertsOfAll)));
    experts.normalize = qwen ? m_reader.boolean("norm_topk_prob", false) : true;
    m_spec.mlp.inner = size(qwen ? "moe_intermediate_size" : "intermediate_size", m_defaults.inner, maximumInner);
    const double auxiliary = m_reader.number("router_aux_loss_coef", 0.001, 0, 1e6);
    if (m_reader.boolean("output_router_logits", false) && auxiliary != 0)
      m_reader.problem("output_router_logits",
                       "adds an auxiliary loss of the router, which is not implemented; false trains without it");
    if (!qwen) {
      refuseUnless(m_reader, "router_jitter_noise", {0},
                   "adds noise to what the router reads, which is not implemented");
      return;
    }
    (void)size("intermediate_size", 1, maximumInner); // of layers without experts, of which there are none
    const char* dense = "leaves some layers without experts; layers of different sizes are not implemented";
    refuseUnless(m_reader, "mlp_only_layers", {Json::array()}, dense);
    refuseUnless(m_reader, "decoder_sparse_step", {1}, dense);
  }

  void readGemma2() {
    m_spec.postNorms = true;
    const auto softcap = [&](const char* key, double fallback) {
      return m_reader.number(key, isNull(key) ? 0 : fallback, 1e-3, 1e6);
    };
    m_spec.attention.softcap = softcap("attn_logit_softcapping", 50);
    m_spec.logitSoftcap = softcap("final_logit_softcapping", 30);
    const double scalar = m_reader.number("query_pre_attn_scalar", 256, 1e-6, 1e9);
    for (LayerSpec& layer : m_spec.layers) layer.attentionScale = 1.0 / std::sqrt(scalar);
  }

  void readHeads() {
    AttentionSpec& attention = m_spec.attention;
    attention.heads = size("num_attention_heads", m_defaults.heads, maximumHeads);
    // Null means as many as heads for every family.
    const bool asHeads = m_defaults.kvHeads == 0 || isNull("num_key_value_heads");
    attention.kvHeads = size("num_key_value_heads", asHeads ? attention.heads : m_defaults.kvHeads, maximumHeads);
    if (attention.heads % attention.kvHeads != 0)
      m_reader.problem("num_key_value_heads",
                       fmt::format("{} {}, expected a divisor of num_attention_heads, which is {}",
                                   m_reader.has("num_key_value_heads") ? "is" : "is missing, which means",
                                   attention.kvHeads, attention.heads));
    const bool fixedHead = m_defaults.headDim != 0 && !isNull("head_dim");
    if (!m_reader.has("head_dim") && !fixedHead && m_spec.hidden % attention.heads != 0)
      m_reader.problem("num_attention_heads",
                       fmt::format("is {}, expected a divisor of hidden_size, which is {}, since head_dim is absent",
                                   attention.heads, m_spec.hidden));
    attention.headDim =
        size("head_dim", fixedHead ? m_defaults.headDim : std::max<std::int64_t>(1, m_spec.hidden / attention.heads),
             maximumHeadDim);
    if (attention.headDim % 2 != 0)
      m_reader.problem(
          m_reader.has("head_dim") ? "head_dim" : "num_attention_heads",
          fmt::format("gives heads of {} elements, expected an even number for rotary positions", attention.headDim));
    if (attention.heads * attention.headDim > maximumProjection)
      m_reader.problem("head_dim", fmt::format("times num_attention_heads is {}, at most {} is possible",
                                               attention.heads * attention.headDim, maximumProjection));
  }

  void readBiases() {
    const bool qwen2 = m_spec.family == ModelFamily::Qwen2;
    const bool never = m_defaults.windowed == WindowedLayers::All; // mistral and those after it
    if (qwen2) {
      m_spec.attention.qkvBias = true;
      refuseUnless(m_reader, "attention_bias", {},
                   "is not read by this family, whose q, k and v have biases and whose output has none");
    } else if (never) {
      refuseUnless(m_reader, "attention_bias", {false}, "is not read by this family, which has no biases");
    } else {
      m_spec.attention.qkvBias = m_spec.attention.outBias = m_reader.boolean("attention_bias", false);
    }
    if (m_spec.family == ModelFamily::Llama)
      m_spec.mlp.bias = m_reader.boolean("mlp_bias", false);
    else
      refuseUnless(m_reader, "mlp_bias", {false}, "is not read by this family, which has no biases in its MLP");
  }

  /// What all families share.
  void readCommon() {
    m_spec.tiedEmbeddings = m_reader.boolean("tie_word_embeddings", m_defaults.tied);
    const double range = m_reader.number("initializer_range", 0.02, 0, 1000);
    m_spec.initializerRange = range == 0 ? 0.02 : range;
    for (const char* key : {"dtype", "torch_dtype"}) {
      std::string name = m_reader.text(key, "auto");
      if (name.starts_with("torch.")) name = name.substr(6);
      if (name != "auto" && name != "float32" && name != "bfloat16" && name != "float16" && name != "float64")
        m_reader.problem(key, fmt::format("is '{}', expected float32, bfloat16, float16 or float64", name));
    }
    readTokens();
  }

  void readTokens() {
    const std::int64_t bos =
        m_reader.integer("bos_token_id", isNull("bos_token_id") ? -1 : m_defaults.bos, -1, INT32_MAX);
    if (usable("bos_token_id", bos)) m_spec.bosToken = bos;
    const Json& eos = m_reader.value("eos_token_id");
    if (eos.is_array()) {
      for (std::size_t i = 0; i < eos.size(); ++i) {
        Json holder = Json::object();
        holder["id"] = eos[i];
        JsonReader item(holder, m_source);
        const std::int64_t id = item.integer("id", -1, -1, INT32_MAX);
        if (!item.status()) m_reader.problem(fmt::format("eos_token_id[{}]", i), "is not a token number");
        if (usable("eos_token_id", id)) m_spec.eosTokens.push_back(id);
      }
    } else {
      const std::int64_t id =
          m_reader.integer("eos_token_id", isNull("eos_token_id") ? -1 : m_defaults.eos, -1, INT32_MAX);
      if (usable("eos_token_id", id)) m_spec.eosTokens.push_back(id);
    }
    readPadding();
  }

  /// As in torch.nn.Embedding: a negative id counts from the end of the table. gpt2 has no such token.
  void readPadding() {
    const bool absent = !m_reader.has("pad_token_id");
    std::int64_t pad = m_reader.integer("pad_token_id", m_defaults.pad, -INT32_MAX, INT32_MAX);
    if (m_spec.family == ModelFamily::Gpt2 || isNull("pad_token_id") || (absent && m_defaults.pad < 0)) return;
    if (!m_config.contains("pad_token_id") && pad >= m_spec.vocabulary) return;
    if (pad < -m_spec.vocabulary || pad >= m_spec.vocabulary) {
      m_reader.problem("pad_token_id", fmt::format("is {}, expected null or less than vocab_size, which is {}", pad,
                                                   m_spec.vocabulary));
      return;
    }
    if (pad < 0) pad += m_spec.vocabulary;
    m_spec.paddingToken = pad;
    const bool stops = std::find(m_spec.eosTokens.begin(), m_spec.eosTokens.end(), pad) != m_spec.eosTokens.end();
    if (stops || m_spec.bosToken == pad)
      warn(fmt::format("pad_token_id is {}, which is also a token of the text: as an input its embedding is not "
                       "trained, here as in transformers; set pad_token_id to null to train it",
                       pad));
  }

  bool usable(const char* key, std::int64_t id) {
    if (id < 0) return false;
    if (id < m_spec.vocabulary) return true;
    if (m_reader.has(key))
      warn(fmt::format("{} is {}, outside the vocabulary of {}; it is left out", key, id, m_spec.vocabulary));
    return false;
  }

  Status readRope() {
    RopeContext context;
    context.source = m_source;
    context.maxPositions = m_spec.maxPositions;
    context.headDim = m_spec.attention.headDim;
    context.theta = m_defaults.theta;
    context.phi3 = m_spec.family == ModelFamily::Phi3;
    MILLRACE_TRY(m_spec.rope, ropeFromConfig(m_reader, context, m_warnings));
    const RopeSpec& rope = *m_spec.rope;
    if (rope.kind != RopeKind::LongRope || rope.originalMaxPositions >= m_spec.maxPositions) return {};
    warn(
        fmt::format("max_position_embeddings is {}: rotary positions are those for up to {} "
                    "(original_max_position_embeddings), which is the longest that the model is used with here; beyond "
                    "that longrope's frequencies depend on the length of every sequence",
                    m_spec.maxPositions, rope.originalMaxPositions));
    m_spec.maxPositions = rope.originalMaxPositions;
    return {};
  }

  const Json& m_config;
  std::string m_source;
  std::vector<std::string>* m_warnings;
  JsonReader m_reader;
  ModelSpec m_spec;
  FamilyDefaults m_defaults;
};

} // namespace

Result<ModelSpec> modelSpecFromConfig(const Json& config, const std::string& source,
                                      std::vector<std::string>* warnings) {
  MILLRACE_CHECK(refuseForeignConfig(config, source));
  return Importer(config, source, warnings).run();
}

Result<ModelSpec> readModelConfig(FileSystem& files, const Path& folder, std::vector<std::string>* warnings) {
  MILLRACE_CHECK(refuseForeignFolder(files, folder));
  const Path path = folder / "config.json";
  if (!files.exists(path))
    return badInput(fmt::format("{}: not found; a Hugging Face model folder holds a config.json and its weights as "
                                "safetensors{}",
                                path.string(), adviceOnWeights(files, folder)));
  MILLRACE_TRY(const Json config, readJsonFile(files, path, 16 * MiB));
  return modelSpecFromConfig(config, path.string(), warnings);
}

} // namespace millrace

// Config import: every golden config, the spellings that must mean the same, defaults, and what must be refused by
// name.
#include "configs.h"
#include "model/blocks.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;

namespace {

Result<ModelSpec> import(const std::string& family, const std::string& change) {
  return modelSpecFromConfig(changedConfig(family, change), "some/config.json");
}

void writeBytes(const Path& path, std::string_view text) {
  LocalFileSystem files;
  const auto file = valueOrThrow(files.open(path, OpenMode::Create));
  valueOrThrow(file->write(std::as_bytes(std::span(text)), 0));
}

} // namespace

class TestConfigImport : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void goldenConfigs() {
    LocalFileSystem files;
    const auto read = [&](const char* name) { return valueOrThrow(readModelConfig(files, goldenFolder(name))); };

    const ModelSpec llama = read("llama_gqa");
    QCOMPARE(llama.family, ModelFamily::Llama);
    QCOMPARE(llama.vocabulary, std::int64_t{259});
    QCOMPARE(llama.hidden, std::int64_t{64});
    QCOMPARE(llama.maxPositions, std::int64_t{256});
    QCOMPARE(llama.normEpsilon, 1e-5);
    QCOMPARE(llama.layers.size(), std::size_t{3});
    QCOMPARE(llama.layers[0].attentionScale, 0.25);
    QCOMPARE(llama.layers[0].window, std::int64_t{0});
    QVERIFY(llama.attention == (AttentionSpec{4, 2, 16, false, false, QkNorm::None}));
    QVERIFY(llama.mlp == (MlpSpec{172, true, Activation::Silu, false}));
    QVERIFY(llama.rope == RopeSpec{});
    QVERIFY(!llama.tiedEmbeddings && !llama.learnedPositions && !llama.conv1dWeights);
    QCOMPARE(*llama.bosToken, std::int64_t{1});
    QVERIFY(llama.eosTokens == std::vector<std::int64_t>{2});

    QVERIFY(read("llama_mha_tied").tiedEmbeddings);
    RopeSpec scaled;
    scaled.kind = RopeKind::Llama3;
    scaled.theta = 500000;
    scaled.factor = 8;
    scaled.originalMaxPositions = 64;
    QVERIFY(read("llama3_rope_scaled").rope == scaled);

    const ModelSpec qwen2 = read("qwen2");
    QVERIFY(qwen2.attention == (AttentionSpec{4, 2, 16, true, false, QkNorm::None}));
    QVERIFY(!qwen2.bosToken && qwen2.eosTokens.empty());
    QCOMPARE(qwen2.rope->theta, 1e6);
    const ModelSpec qwen3 = read("qwen3");
    QVERIFY(qwen3.attention == (AttentionSpec{4, 2, 32, false, false, QkNorm::Head}));
    QCOMPARE(qwen3.layers[0].attentionScale, 1 / std::sqrt(32.0));
    for (const LayerSpec& layer : read("mistral_swa").layers) QCOMPARE(layer.window, std::int64_t{16});

    const ModelSpec olmo2 = read("olmo2");
    QVERIFY(olmo2.attention == (AttentionSpec{4, 2, 16, false, false, QkNorm::Projection}));
    QVERIFY(!olmo2.preNorms && olmo2.postNorms);
    QCOMPARE(*olmo2.paddingToken, std::int64_t{1});
    const ModelSpec gemma2 = read("gemma2");
    QVERIFY(gemma2.attention == (AttentionSpec{4, 2, 16, false, false, QkNorm::None, 50}));
    QVERIFY(gemma2.preNorms && gemma2.postNorms && gemma2.tiedEmbeddings);
    QCOMPARE(gemma2.normWeightOffset, 1.0);
    QCOMPARE(gemma2.embeddingScale, 8.0);
    QCOMPARE(gemma2.logitSoftcap, 30.0);
    QCOMPARE(gemma2.mlp.activation, Activation::GeluTanh);
    QVERIFY(gemma2.layers == (std::vector<LayerSpec>{{16, 0.25}, {0, 0.25}}));

    const ModelSpec mixtral = read("mixtral");
    QVERIFY(mixtral.experts == (ExpertsSpec{4, 2, true}));
    QCOMPARE(mixtral.mlp.inner, std::int64_t{96});
    const ModelSpec qwen3Moe = read("qwen3_moe");
    QVERIFY(qwen3Moe.experts == (ExpertsSpec{8, 2, true}));
    QCOMPARE(qwen3Moe.mlp.inner, std::int64_t{48});
    QVERIFY(qwen3Moe.attention.qkNorm == QkNorm::Head);

    const ModelSpec gpt2 = read("gpt2");
    QVERIFY(gpt2.attention == (AttentionSpec{4, 4, 16, true, true, QkNorm::None}));
    QVERIFY(gpt2.mlp == (MlpSpec{256, false, Activation::GeluTanh, true}));
    QVERIFY(gpt2.norm == NormKind::Layer && gpt2.learnedPositions && gpt2.conv1dWeights && gpt2.tiedEmbeddings);
    QVERIFY(!gpt2.rope);
    QCOMPARE(gpt2.maxPositions, std::int64_t{128});
  }

  void equalSpellings_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("one");
    QTest::addColumn<QString>("other");
    const auto row = [](const char* name, const char* family, const char* one, const char* other) {
      QTest::newRow(name) << family << one << other;
    };
    row("theta at the top or inside", "llama", R"({"rope_theta": 5e5})",
        R"({"rope_parameters": {"rope_theta": 500000, "rope_type": "default"}})");
    row("inner theta wins", "llama", R"({"rope_theta": 10000, "rope_parameters": {"rope_theta": 7e4}})",
        R"({"rope_theta": 70000})");
    row("type and rope_type", "llama", R"({"rope_scaling": {"type": "linear", "factor": 2}})",
        R"({"rope_scaling": {"rope_type": "linear", "factor": 2.0}})");
    row("both, equal", "llama", R"({"rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2}})",
        R"({"rope_parameters": {"rope_type": "linear", "factor": 2.0}})");
    row("dynamic", "llama", R"({"rope_theta": 1e6, "rope_scaling": {"type": "dynamic", "factor": 4}})",
        R"({"rope_parameters": {"rope_type": "dynamic", "factor": 4, "rope_theta": 1e6}})");
    row("scaling null", "llama", R"({"rope_scaling": null})", R"({})");
    row("scaling default", "llama", R"({"rope_scaling": {"type": "default"}})", R"({})");
    row("scaling empty", "llama", R"({"rope_scaling": {}, "rope_parameters": {"rope_theta": 1e5}})",
        R"({"rope_theta": 1e5})");
    row("both places, equal", "llama",
        R"({"rope_scaling": {"rope_type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "linear", "factor": 2}})",
        R"({"rope_scaling": {"rope_type": "linear", "factor": 2}})");
    row("original length at the top", "llama",
        R"({"original_max_position_embeddings": 64, "rope_scaling": {"type": "yarn", "factor": 4}})",
        R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64}})");
    row("yarn defaults", "llama",
        R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64}})",
        R"({"rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64, "beta_fast": 32,
            "beta_slow": 1, "mscale": null, "attention_factor": null, "truncate": true, "finetuned": true}})");
    row("yarn factor from lengths", "llama",
        R"({"rope_scaling": {"type": "yarn", "factor": null, "original_max_position_embeddings": 64}})",
        R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64}})");
    row("yarn original length absent", "llama", R"({"rope_scaling": {"type": "yarn", "factor": 4}})",
        R"({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 256}})");
    row("whole heads", "llama", R"({"partial_rotary_factor": 1.0})", R"({})");
    row("dtype", "llama", R"({"torch_dtype": "bfloat16"})", R"({"dtype": "float32"})");
    row("dtype of torch", "llama", R"({"dtype": "torch.float16"})", R"({})");
    row("head_dim null", "llama", R"({"head_dim": null})", R"({"head_dim": 8})");
    row("head_dim absent", "mistral", R"({"head_dim": "<remove>"})", R"({"head_dim": 8})");
    row("head_dim null, qwen3", "qwen3", R"({"head_dim": null})", R"({"head_dim": 8})");
    row("head_dim absent, qwen3", "qwen3", R"({"head_dim": "<remove>"})", R"({"head_dim": 128})");
    row("kv heads absent, llama", "llama", R"({"num_key_value_heads": "<remove>"})", R"({"num_key_value_heads": 4})");
    row("kv heads null, mistral", "mistral", R"({"num_key_value_heads": null})", R"({"num_key_value_heads": 4})");
    row("kv heads absent, mistral", "mistral", R"({"num_attention_heads": 8, "num_key_value_heads": "<remove>"})",
        R"({"num_attention_heads": 8, "num_key_value_heads": 8})");
    row("kv heads absent, qwen2", "qwen2", R"({"num_attention_heads": 32, "num_key_value_heads": "<remove>"})",
        R"({"num_attention_heads": 32, "num_key_value_heads": 32})");
    row("whole floats", "llama", R"({"hidden_size": 32.0})", R"({})");
    row("swish", "llama", R"({"hidden_act": "swish"})", R"({"hidden_act": "silu"})");
    row("activation absent", "llama", R"({})", R"({"hidden_act": "silu", "hidden_activation": "swish"})");
    row("tanh approximations", "llama", R"({"hidden_act": "gelu_new"})", R"({"hidden_act": "gelu_pytorch_tanh"})");
    row("fast gelu", "gpt2", R"({"activation_function": "gelu_fast"})", R"({})");
    row("exact gelu", "gpt2", R"({"activation_function": "gelu"})", R"({"activation_function": "gelu_python"})");
    row("epsilon default", "llama", R"({"rms_norm_eps": 1e-6})", R"({"rms_norm_eps": null})");
    row("epsilon default, gpt2", "gpt2", R"({"layer_norm_epsilon": 1e-5})", R"({})");
    row("n_inner null", "gpt2", R"({"n_inner": null})", R"({"n_inner": 128})");
    row("gpt2 by general names", "gpt2",
        R"({"n_embd": "<remove>", "hidden_size": 32, "n_layer": "<remove>", "num_hidden_layers": 4,
            "n_head": "<remove>", "num_attention_heads": 4, "n_positions": "<remove>", "max_position_embeddings": 64})",
        R"({"hidden_size": 32, "num_hidden_layers": 4})");
    row("gpt2 in fp32 attention", "gpt2", R"({"reorder_and_upcast_attn": true})", R"({})");
    row("ties absent, llama", "llama", R"({"tie_word_embeddings": false})", R"({})");
    row("ties absent, qwen2", "qwen2", R"({"tie_word_embeddings": false})", R"({})");
    row("ties absent, gpt2", "gpt2", R"({"tie_word_embeddings": true})", R"({})");
    row("biases absent", "qwen3", R"({"attention_bias": false, "mlp_bias": false})", R"({})");
    row("window off, qwen2", "qwen2", R"({"sliding_window": 16, "use_sliding_window": false})", R"({})");
    row("window on but null", "qwen2", R"({"sliding_window": null, "use_sliding_window": true})", R"({})");
    row("window default, qwen3", "qwen3", R"({"use_sliding_window": true, "max_window_layers": 1})",
        R"({"use_sliding_window": true, "max_window_layers": 1, "sliding_window": 4096})");
    row("layer types spelled out", "qwen2",
        R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 2})",
        R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 28,
            "layer_types": ["full_attention", "attention", "sliding_attention", "sliding_attention"]})");
    row("window default, mistral", "mistral", R"({})", R"({"sliding_window": 4096})");
    row("layer types, mistral", "mistral", R"({"sliding_window": 8, "use_sliding_window": true, "layer_types":
        ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})",
        R"({"sliding_window": 8})");
    row("window off, llama", "llama", R"({"sliding_window": 16, "use_sliding_window": false})", R"({})");
    row("pretraining_tp", "llama", R"({"pretraining_tp": 2})", R"({})");
    row("generation and bookkeeping", "llama",
        R"({"temperature": 0.6, "top_p": 0.9, "do_sample": true, "architectures": ["LlamaForCausalLM"],
            "_name_or_path": "x", "transformers_version": "4.51.0", "use_cache": false, "id2label": {"0": "A"},
            "pad_token_id": null, "quantization_config": null, "auto_map": {}, "attn_logit_softcapping": null,
            "use_mrope": false, "rope_interleaved": false, "num_experts": 0})",
        R"({})");
    row("experts by default, mixtral", "mixtral",
        R"({"num_local_experts": 8, "num_experts_per_tok": 2, "rope_theta": 1e6, "sliding_window": null,
            "output_router_logits": true, "router_aux_loss_coef": 0, "router_jitter_noise": 0.0})",
        R"({"router_aux_loss_coef": 0.02, "output_router_logits": false})");
    row("experts by either name", "qwen3_moe", R"({"num_local_experts": 16})",
        R"({"num_experts": 16, "intermediate_size": 999, "decoder_sparse_step": 1, "mlp_only_layers": [],
            "use_sliding_window": false, "max_window_layers": 48})");
    row("caps by default, gemma2", "gemma2", R"({"attn_logit_softcapping": 50, "final_logit_softcapping": 30.0})",
        R"({})");
    row("no caps, gemma2", "gemma2", R"({"attn_logit_softcapping": null})",
        R"({"attn_logit_softcapping": null, "use_bidirectional_attention": false})");
    row("layer types by default, gemma2", "gemma2", R"({"layer_types": ["sliding_attention", "full_attention",
        "sliding_attention", "full_attention"]})",
        R"({"sliding_window": 4096})");
    row("activation under both names, gemma2", "gemma2", R"({"hidden_act": "gelu_pytorch_tanh"})", R"({})");
    row("activation, gemma", "gemma", R"({"hidden_act": "gelu", "hidden_activation": null})",
        R"({"hidden_activation": "gelu_pytorch_tanh"})");
    row("head_dim absent, gemma", "gemma", R"({"head_dim": "<remove>"})", R"({"head_dim": 256})");
    row("one eos or a list", "llama", R"({"eos_token_id": [5]})", R"({"eos_token_id": 5})");
    row("ids of nothing", "llama", R"({"bos_token_id": null, "eos_token_id": null})",
        R"({"bos_token_id": -1, "eos_token_id": []})");
  }
  void equalSpellings() {
    QFETCH(QString, family);
    QFETCH(QString, one);
    QFETCH(QString, other);
    const auto a = import(family.toStdString(), one.toStdString());
    const auto b = import(family.toStdString(), other.toStdString());
    QVERIFY2(a, a ? "" : a.error().message.c_str());
    QVERIFY2(b, b ? "" : b.error().message.c_str());
    QVERIFY(*a == *b);
  }

  /// Each of these must change the spec: a key that is read but not used would pass every other test.
  void honoured_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    const auto row = [](const char* family, const char* change) {
      QTest::addRow("%s %s", family, change) << family << change;
    };
    for (const char* change : {R"({"vocab_size": 101})", R"({"hidden_size": 64})", R"({"num_hidden_layers": 5})",
                               R"({"num_attention_heads": 2})", R"({"num_key_value_heads": 1})", R"({"head_dim": 16})",
                               R"({"intermediate_size": 50})", R"({"max_position_embeddings": 128})",
                               R"({"rms_norm_eps": 1e-4})", R"({"hidden_act": "gelu"})", R"({"hidden_act": "relu2"})",
                               R"({"hidden_act": "relu"})", R"({"tie_word_embeddings": true})",
                               R"({"initializer_range": 0.01})", R"({"rope_theta": 20000})", R"({"bos_token_id": 7})",
                               R"({"eos_token_id": [7, 8]})", R"({"rope_scaling": {"type": "linear", "factor": 2}})"})
      for (const char* family : {"llama", "qwen2", "qwen3", "mistral", "olmo2"}) row(family, change);
    for (const char* change : {R"({"attention_bias": true})", R"({"mlp_bias": true})"}) row("llama", change);
    row("qwen3", R"({"attention_bias": true})");
    row("mistral", R"({"sliding_window": 12})");
    row("phi3", R"({"sliding_window": 12})");
    row("phi3", R"({"partial_rotary_factor": 0.5})");
    row("phi3", R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}})");
    row("phi3", R"({"pad_token_id": 5})");
    row("phi3", R"({"original_max_position_embeddings": 64, "rope_scaling": {"type": "longrope",
      "short_factor": [1, 1, 1, 2], "long_factor": [2, 3, 4, 5]}})");
    row("mistral", R"({"sliding_window": null})");
    row("olmo2", R"({"attention_bias": true})");
    row("olmo2", R"({"pad_token_id": 5})");
    for (const char* change :
         {R"({"sliding_window": 12})", R"({"sliding_window": null})", R"({"attn_logit_softcapping": 20})",
          R"({"attn_logit_softcapping": null})", R"({"final_logit_softcapping": 20})",
          R"({"final_logit_softcapping": null})", R"({"query_pre_attn_scalar": 144})", R"({"attention_bias": true})",
          R"({"hidden_activation": "gelu"})", R"({"tie_word_embeddings": false})", R"({"layer_types":
          ["full_attention", "full_attention", "sliding_attention", "full_attention"]})"})
      row("gemma2", change);
    row("gemma", R"({"hidden_act": "silu"})");
    for (const char* change : {R"({"num_local_experts": 5})", R"({"num_experts_per_tok": 3})",
                               R"({"sliding_window": 9})", R"({"intermediate_size": 50})", R"({"rope_theta": 1e4})"})
      row("mixtral", change);
    for (const char* change : {R"({"num_experts": 5, "num_experts_per_tok": 5})", R"({"num_experts_per_tok": 3})",
                               R"({"moe_intermediate_size": 50})", R"({"norm_topk_prob": true})",
                               R"({"use_sliding_window": true})", R"({"attention_bias": true})"})
      row("qwen3_moe", change);
    row("qwen2", R"({"use_sliding_window": true, "max_window_layers": 3})");
    row("qwen3", R"({"use_sliding_window": true, "layer_types": ["sliding_attention", "full_attention",
      "sliding_attention", "full_attention"]})");
    for (const char* change :
         {R"({"vocab_size": 101})", R"({"n_embd": 64})", R"({"n_layer": 5})", R"({"n_head": 2})", R"({"n_inner": 64})",
          R"({"n_positions": 128})", R"({"layer_norm_epsilon": 1e-6})", R"({"activation_function": "relu"})",
          R"({"scale_attn_weights": false})", R"({"scale_attn_by_inverse_layer_idx": true})",
          R"({"tie_word_embeddings": false})", R"({"initializer_range": 0.01})"})
      row("gpt2", change);
  }
  void honoured() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    const auto base = import(family.toStdString(), "");
    const auto changed = import(family.toStdString(), change.toStdString());
    QVERIFY2(base, base ? "" : base.error().message.c_str());
    QVERIFY2(changed, changed ? "" : changed.error().message.c_str());
    QVERIFY(!(*base == *changed));
  }

  /// Keys as they stand in published models of each family.
  void publishedConfigs_data() {
    QTest::addColumn<QByteArray>("config");
    QTest::addColumn<qint64>("parameters");
    QTest::newRow("gpt2") << QByteArray(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
      "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
      "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
      "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
      "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true, "task_specific_params":
      {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})")
                          << qint64{124439808};
    QTest::newRow("llama 3.1 8B") << QByteArray(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu",
      "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072,
      "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
      "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
      "transformers_version": "4.42.3", "use_cache": true, "vocab_size": 128256})")
                                  << qint64{8030261248};
    QTest::newRow("llama 2 7B") << QByteArray(R"({"_name_or_path": "x", "architectures": ["LlamaForCausalLM"],
      "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
      "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "llama", "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
      "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.31.0",
      "use_cache": true, "vocab_size": 32000})")
                                << qint64{6738415616};
    QTest::newRow("first llama") << QByteArray(R"({"architectures": ["LlamaForCausalLM"], "bos_token_id": 0,
      "eos_token_id": 1, "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008,
      "initializer_range": 0.02, "max_sequence_length": 2048, "model_type": "llama", "num_attention_heads": 32,
      "num_hidden_layers": 32, "pad_token_id": -1, "rms_norm_eps": 1e-06, "torch_dtype": "float16",
      "transformers_version": "4.27.0.dev0", "use_cache": true, "vocab_size": 32000})")
                                 << qint64{6738415616};
    QTest::newRow("small llama") << QByteArray(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576,
      "initializer_range": 0.041666666666666664, "intermediate_size": 1536, "is_llama_config": true,
      "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30,
      "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false,
      "rope_scaling": null, "rope_theta": 100000, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
      "transformers_version": "4.40.1", "use_cache": true, "vocab_size": 49152})")
                                 << qint64{134515008};
    QTest::newRow("qwen2.5 distilled") << QByteArray(R"({"architectures": ["Qwen2ForCausalLM"],
      "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643, "hidden_act": "silu",
      "hidden_size": 1536, "initializer_range": 0.02, "intermediate_size": 8960, "max_position_embeddings": 131072,
      "max_window_layers": 21, "model_type": "qwen2", "num_attention_heads": 12, "num_hidden_layers": 28,
      "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 10000, "sliding_window": 4096,
      "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.44.0", "use_cache": true,
      "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})")
                                       << qint64{1777088000};
    QTest::newRow("qwen3 0.6B") << QByteArray(R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
      "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072, "max_position_embeddings": 40960,
      "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
      "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000,
      "sliding_window": null, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
      "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 151936})")
                                << qint64{596049920};
    QTest::newRow("phi 3 mini") << QByteArray(R"({"architectures": ["Phi3ForCausalLM"], "attention_dropout": 0.0,
      "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072,
      "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3",
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
      "original_max_position_embeddings": 4096, "pad_token_id": 32000, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05,
      "rope_scaling": null, "rope_theta": 10000.0, "sliding_window": 2047, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": true, "attention_bias": false,
      "vocab_size": 32064})") << qint64{3821079552};
    QTest::newRow("olmo 2 7B") << QByteArray(R"({"architectures": ["Olmo2ForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 4096,
      "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "olmo2",
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "pad_token_id": 100277,
      "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 500000, "tie_word_embeddings": false,
      "torch_dtype": "float32", "transformers_version": "4.47.0.dev0", "use_cache": false, "vocab_size": 100352})")
                               << qint64{7298617344};
    QTest::newRow("gemma 2 2B") << QByteArray(R"({"architectures": ["Gemma2ForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid",
      "eos_token_id": 1, "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
      "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304, "initializer_range": 0.02,
      "intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8,
      "num_hidden_layers": 26, "num_key_value_heads": 4, "pad_token_id": 0, "query_pre_attn_scalar": 256,
      "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096, "torch_dtype": "float32",
      "transformers_version": "4.42.4", "use_cache": true, "vocab_size": 256000})")
                                << qint64{2614341888};
    QTest::newRow("gemma 2B") << QByteArray(R"({"architectures": ["GemmaForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "bos_token_id": 2, "eos_token_id": 1, "head_dim": 256, "hidden_act": "gelu",
      "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 16384, "max_position_embeddings": 8192,
      "model_type": "gemma", "num_attention_heads": 8, "num_hidden_layers": 18, "num_key_value_heads": 1,
      "pad_token_id": 0, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 10000.0,
      "torch_dtype": "bfloat16", "transformers_version": "4.38.0.dev0", "use_cache": true, "vocab_size": 256000})")
                              << qint64{2506172416};
    QTest::newRow("mixtral 8x7B") << QByteArray(R"({"architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0,
      "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
      "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
      "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "num_local_experts": 8, "output_router_logits": false, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
      "router_aux_loss_coef": 0.02, "sliding_window": null, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "transformers_version": "4.36.0.dev0", "use_cache": true, "vocab_size": 32000})")
                                  << qint64{46702792704};
    QTest::newRow("qwen3 30B A3B") << QByteArray(R"({"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false,
      "attention_dropout": 0.0, "bos_token_id": 151643, "decoder_sparse_step": 1, "eos_token_id": 151645,
      "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
      "intermediate_size": 6144, "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [],
      "model_type": "qwen3_moe", "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32,
      "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
      "output_router_logits": false, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0,
      "router_aux_loss_coef": 0.001, "sliding_window": null, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false,
      "vocab_size": 151936})") << qint64{30532122624};
    QTest::newRow("mistral 7B") << QByteArray(R"({"architectures": ["MistralForCausalLM"], "attention_dropout": 0.0,
      "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
      "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
      "rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
      "transformers_version": "4.42.0.dev0", "use_cache": true, "vocab_size": 32768})")
                                << qint64{7248023552};
  }
  void publishedConfigs() {
    QFETCH(QByteArray, config);
    QFETCH(qint64, parameters);
    const auto spec = modelSpecFromConfig(Json::parse(config.toStdString()), "config.json");
    QVERIFY2(spec, spec ? "" : spec.error().message.c_str());
    QCOMPARE(static_cast<qint64>(parameterCount(*spec)), parameters);
  }

  void windowsPerLayer() {
    const ModelSpec spec =
        valueOrThrow(import("qwen2", R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 3})"));
    std::vector<std::int64_t> windows;
    for (const LayerSpec& layer : spec.layers) windows.push_back(layer.window);
    QVERIFY(windows == std::vector<std::int64_t>({0, 0, 0, 8}));
  }

  void gpt2Scales() {
    const ModelSpec byLayer = valueOrThrow(import("gpt2", R"({"scale_attn_by_inverse_layer_idx": true})"));
    for (std::size_t i = 0; i < 4; ++i)
      QCOMPARE(byLayer.layers[i].attentionScale, 1 / std::sqrt(8.0) / static_cast<double>(i + 1));
    const ModelSpec none = valueOrThrow(import("gpt2", R"({"scale_attn_weights": false})"));
    QCOMPARE(none.layers[3].attentionScale, 1.0);
  }

  void bareConfigIsTheFamilysDefault() {
    const auto spec = [](const char* text) { return valueOrThrow(modelSpecFromConfig(Json::parse(text), "c")); };
    const ModelSpec gpt2 = spec(R"({"model_type": "gpt2"})");
    QCOMPARE(gpt2.hidden, std::int64_t{768});
    QCOMPARE(gpt2.eosTokens.front(), std::int64_t{50256});
    const ModelSpec mistral = spec(R"({"model_type": "mistral"})");
    QCOMPARE(mistral.attention.kvHeads, std::int64_t{8});
    QCOMPARE(mistral.maxPositions, std::int64_t{131072});
    QCOMPARE(mistral.mlp.inner, std::int64_t{14336});
    const ModelSpec qwen3 = spec(R"({"model_type": "qwen3"})");
    QCOMPARE(qwen3.vocabulary, std::int64_t{151936});
    QCOMPARE(qwen3.attention.headDim, std::int64_t{128});
  }

  void warnings_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    QTest::addColumn<QStringList>("expected"); // a part of each warning
    QTest::newRow("llama none") << "llama"
                                << "" << QStringList{};
    QTest::newRow("llama dropout") << "llama"
                                   << R"({"attention_dropout": 0.1})" << QStringList{"attention_dropout is 0.1"};
    QTest::newRow("gpt2 defaults") << "gpt2"
                                   << "" << QStringList{"attn_pdrop", "embd_pdrop", "resid_pdrop"};
    QTest::newRow("gpt2 none") << "gpt2"
                               << R"({"attn_pdrop": 0, "embd_pdrop": 0.0, "resid_pdrop": 0})" << QStringList{};
    QTest::newRow("padding is text") << "llama"
                                     << R"({"pad_token_id": 2})" << QStringList{"pad_token_id is 2"};
    QTest::newRow("token outside") << "llama"
                                   << R"({"eos_token_id": [2, 100]})" << QStringList{"eos_token_id is 100"};
    QTest::newRow("longrope") << "phi3"
                              << R"({"original_max_position_embeddings": 64, "rope_scaling": {"type": "longrope",
                                     "short_factor": [1, 1, 1, 2], "long_factor": [2, 3, 4, 5]}})"
                              << QStringList{"max_position_embeddings is 256: rotary positions are those for up to 64"};
    QTest::newRow("unused length") << "llama"
                                   << R"({"rope_scaling": {"type": "dynamic", "factor": 2,
                                          "original_max_position_embeddings": 64}})"
                                   << QStringList{"rope_scaling.original_max_position_embeddings"};
  }
  void warnings() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    QFETCH(QStringList, expected);
    std::vector<std::string> warnings;
    const auto spec =
        modelSpecFromConfig(changedConfig(family.toStdString(), change.toStdString()), "some/config.json", &warnings);
    QVERIFY2(spec, spec ? "" : spec.error().message.c_str());
    QCOMPARE(warnings.size(), static_cast<std::size_t>(expected.size()));
    for (std::size_t i = 0; i < warnings.size(); ++i) {
      QVERIFY(warnings[i].starts_with("some/config.json: "));
      QVERIFY2(warnings[i].find(expected[static_cast<int>(i)].toStdString()) != std::string::npos, warnings[i].c_str());
    }
  }

  void refused_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    QTest::addColumn<QStringList>("parts"); // the message contains each of these
    const auto row = [](const char* family, const char* change, QStringList parts) {
      QTest::addRow("%s %s", family, change) << family << change << parts;
    };
    // The family itself.
    row("qwen2_moe", "", {"model_type is 'qwen2_moe', expected one of: llama"});
    row("gemma3_text", "", {"model_type is 'gemma3_text', expected one of: llama"});
    row("olmo", "", {"model_type is 'olmo', expected one of: llama"});
    row("dbrx", "",
        {"model_type is 'dbrx'", "llama, qwen2, qwen3, mistral, gpt2, phi3, olmo2, gemma, gemma2, mixtral"});
    row("llama", R"({"model_type": "<remove>"})", {"model_type is missing", "gpt2"});
    row("llama", R"({"model_type": 3})", {"model_type is 3", "text"});
    // Other mathematics.
    row("llama", R"({"quantization_config": {"quant_method": "gptq"}})", {"quantization_config", "original model"});
    row("llama", R"({"auto_map": {"AutoModel": "x.Y"}})", {"auto_map", "program code"});
    row("llama", R"({"is_encoder_decoder": true})", {"is_encoder_decoder is true"});
    row("gpt2", R"({"add_cross_attention": true})", {"add_cross_attention"});
    row("llama", R"({"problem_type": "regression"})", {"problem_type"});
    row("llama", R"({"peft_type": "LORA"})", {"peft_type", "merge"});
    row("llama", R"({"per_layer_config": {"0": {"hidden_size": 3}}})", {"per_layer_config"});
    row("llama", R"({"pruned_heads": {"1": [0]}})", {"pruned_heads"});
    for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", "clip_qkv",
                            "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling",
                            "logit_scale", "attention_chunk_size"})
      row("llama", qPrintable(QString(R"({"%1": 30.0})").arg(key)), {key});
    for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar"}) {
      row("gemma", qPrintable(QString(R"({"%1": 30.0})").arg(key)), {key});
      row("gemma2", qPrintable(QString(R"({"%1": 0})").arg(key)), {key, "is 0"});
    }
    row("gemma2", R"({"use_bidirectional_attention": true})", {"use_bidirectional_attention", "later"});
    row("olmo2", R"({"clip_qkv": 8})", {"clip_qkv"});
    for (const char* key :
         {"use_qk_norm", "qk_norm", "alibi", "parallel_attn", "use_parallel_residual", "rope_interleaved", "use_mrope"})
      row("qwen2", qPrintable(QString(R"({"%1": true})").arg(key)), {key});
    row("llama", R"({"num_experts": 8})", {"num_experts", "mixture of experts"});
    row("llama", R"({"num_local_experts": 8})", {"num_local_experts"});
    row("qwen3_moe", R"({"mlp_only_layers": [1]})", {"mlp_only_layers", "different sizes"});
    row("qwen3_moe", R"({"decoder_sparse_step": 2})", {"decoder_sparse_step is 2", "different sizes"});
    row("qwen3_moe", R"({"num_experts": 4, "num_experts_per_tok": 5})", {"num_experts_per_tok is 5", "4"});
    row("qwen3_moe", R"({"num_experts": 2000})", {"num_experts is 2000"});
    row("qwen3_moe", R"({"num_experts": 1000, "num_hidden_layers": 8000})",
        {"num_experts times num_hidden_layers is 8,000,000", "131,072"});
    row("qwen3_moe", R"({"num_experts": 8, "num_local_experts": 4})", {"num_local_experts is 4", "num_experts is 8"});
    row("qwen3_moe", R"({"use_sliding_window": true, "max_window_layers": 2})", {"max_window_layers"});
    row("mixtral", R"({"output_router_logits": true})", {"output_router_logits", "auxiliary loss"});
    row("qwen3_moe", R"({"output_router_logits": true, "router_aux_loss_coef": 0.01})", {"output_router_logits"});
    row("mixtral", R"({"router_jitter_noise": 0.1})", {"router_jitter_noise is 0.1", "noise"});
    row("mixtral", R"({"attention_bias": true})", {"attention_bias"});
    row("mixtral", R"({"norm_topk_prob": false})", {"norm_topk_prob"});
    row("llama", R"({"hidden_dropout": 0.1})", {"hidden_dropout"});
    row("llama", R"({"no_rope_layers": [1]})", {"no_rope_layers"});
    // Not known at all.
    row("llama", R"({"frobnicate": 1})", {"frobnicate", "not a known key", "may change the mathematics"});
    row("llama", R"({"hidden_sise": 32})", {"hidden_sise", "did you mean hidden_size"});
    row("llama", R"({"n_embd": 32})", {"n_embd"});
    row("gpt2", R"({"hidden_size": 64})", {"hidden_size is 64", "n_embd is 32"});
    // Biases, activations, norms of the wrong family.
    row("qwen2", R"({"attention_bias": true})", {"attention_bias"});
    row("mistral", R"({"attention_bias": true})", {"attention_bias"});
    row("mistral", R"({"mlp_bias": true})", {"mlp_bias"});
    row("qwen3", R"({"mlp_bias": true})", {"mlp_bias"});
    row("gpt2", R"({"attention_bias": false})", {"attention_bias"});
    row("llama", R"({"hidden_act": "quick_gelu"})", {"hidden_act is 'quick_gelu'", "silu"});
    row("llama", R"({"hidden_act": "gelu_10"})", {"gelu_10"});
    row("llama", R"({"hidden_activation": "gelu"})", {"hidden_activation", "hidden_act"});
    row("gpt2", R"({"hidden_act": "relu"})", {"hidden_act", "activation_function"});
    row("gpt2", R"({"activation_function": "tanh"})", {"activation_function is 'tanh'"});
    row("llama", R"({"layer_norm_eps": 1e-5})", {"layer_norm_eps", "rms_norm_eps"});
    row("llama", R"({"rms_norm_eps": -1})", {"rms_norm_eps is -1"});
    row("llama", R"({"attention_dropout": 1.5})", {"attention_dropout is 1.5"});
    row("llama", R"({"torch_dtype": "float8_e4m3fn"})", {"torch_dtype is 'float8_e4m3fn'"});
    row("llama", R"({"tie_word_embeddings": "yes"})", {"tie_word_embeddings is 'yes'", "true or false"});
    // Sizes.
    row("llama", R"({"hidden_size": 0})", {"hidden_size is 0"});
    row("llama", R"({"hidden_size": -32})", {"hidden_size is -32"});
    row("llama", R"({"hidden_size": "32"})", {"hidden_size is '32'"});
    row("llama", R"({"hidden_size": 3.5})", {"hidden_size is 3.5"});
    row("llama", R"({"hidden_size": 18446744073709551615})", {"hidden_size is 18446744073709551615"});
    row("llama", R"({"vocab_size": 1e15})", {"vocab_size"});
    row("llama", R"({"num_hidden_layers": 100000})", {"num_hidden_layers is 100000"});
    row("llama", R"({"intermediate_size": 9223372036854775807})", {"intermediate_size"});
    row("llama", R"({"num_attention_heads": 16384, "num_key_value_heads": 16384, "head_dim": 4096})", {"head_dim"});
    row("llama", R"({"vocab_size": 16777216, "hidden_size": 1048576, "intermediate_size": 16777216,
      "num_hidden_layers": 8192})",
        {"parameters"});
    row("llama", R"({"head_dim": 7})", {"head_dim", "7", "even"});
    row("llama", R"({"head_dim": null, "hidden_size": 12})", {"num_attention_heads", "3 elements", "even"});
    row("llama", R"({"head_dim": null, "hidden_size": 34})", {"num_attention_heads is 4", "hidden_size, which is 34"});
    row("llama", R"({"num_key_value_heads": 3})", {"num_key_value_heads is 3", "divisor", "4"});
    row("qwen2", R"({"num_key_value_heads": "<remove>"})", {"num_key_value_heads is missing", "32"});
    row("gpt2", R"({"n_head": 5})", {"n_head is 5", "n_embd, which is 32"});
    row("gpt2", R"({"num_key_value_heads": 2})", {"num_key_value_heads is 2"});
    row("gpt2", R"({"intermediate_size": 99})", {"intermediate_size is 99", "128"});
    // Windows.
    row("llama", R"({"sliding_window": 16})", {"sliding_window"});
    row("llama", R"({"use_sliding_window": true})", {"use_sliding_window"});
    row("mistral", R"({"sliding_window": 0})", {"sliding_window is 0"});
    row("mistral", R"({"use_sliding_window": false})", {"use_sliding_window", "4096"});
    row("mistral", R"({"sliding_window": null, "use_sliding_window": true})", {"use_sliding_window"});
    row("mistral", R"({"max_window_layers": 2})", {"max_window_layers"});
    row("mistral",
        R"({"layer_types": ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})",
        {"layer_types[0]"});
    row("qwen2", R"({"layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"]})",
        {"layer_types[0]", "use_sliding_window"});
    row("qwen2", R"({"layer_types": ["full_attention"]})", {"layer_types", "4 entries"});
    row("qwen2", R"({"layer_types": "full_attention"})", {"layer_types"});
    row("qwen2", R"({"layer_types": ["full_attention", "chunked_attention", "full_attention", "full_attention"]})",
        {"layer_types[1] is 'chunked_attention'"});
    row("qwen2", R"({"layer_types": ["full_attention", 5, "full_attention", "full_attention"]})", {"layer_types[1]"});
    row("gpt2", R"({"sliding_window": 16})", {"sliding_window"});
    row("olmo2", R"({"sliding_window": 16})", {"sliding_window", "does not have"});
    row("olmo2", R"({"layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"]})",
        {"layer_types[0]"});
    row("gemma2", R"({"use_sliding_window": false})", {"use_sliding_window", "4096"});
    row("gemma2", R"({"max_window_layers": 2})", {"max_window_layers", "layer_types"});
    row("gemma2", R"({"sliding_window": null, "layer_types":
      ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})",
        {"layer_types[0]"});
    // Rotary positions.
    row("gpt2", R"({"rope_theta": 10000})", {"rope_theta"});
    row("llama", R"({"rope_theta": 1})", {"rope_theta is 1"});
    row("llama", R"({"rope_theta": "big"})", {"rope_theta is 'big'"});
    row("llama", R"({"partial_rotary_factor": 0.5})", {"partial_rotary_factor is 0.5"});
    row("phi3", R"({"partial_rotary_factor": 0.4})", {"partial_rotary_factor is 0.4", "3 elements of heads of 8"});
    row("phi3", R"({"rope_scaling": {"type": "linear", "factor": 2}})", {"rope_scaling.type is 'linear'", "longrope"});
    row("phi3", R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1]}})",
        {"rope_scaling.long_factor", "4 positive numbers"});
    row("phi3", R"({"rope_scaling": {"type": "su", "short_factor": [1, 1, 0, 1], "long_factor": [1, 1, 1, 1]}})",
        {"rope_scaling.short_factor"});
    row("phi3", R"({"rope_scaling": {"type": "longrope", "short_factor": "1", "long_factor": [1, 1, 1, "x"]}})",
        {"rope_scaling.short_factor"});
    row("phi3", R"({"rope_scaling": {"rope_type": "default", "short_factor": [1, 1, 1, 1]}})",
        {"rope_scaling.short_factor", "longrope"});
    row("phi3", R"({"attention_bias": true})", {"attention_bias"});
    row("phi3", R"({"auto_map": {"AutoModel": "x.Y"}})", {"remove auto_map"});
    row("llama", R"({"rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1]}})",
        {"rope_scaling.type is 'longrope'", "yarn"});
    row("llama", R"({"rope_scaling": {"type": "su"}})", {"rope_scaling.type is 'su'"});
    row("llama", R"({"rope_scaling": {"rope_type": "proportional"}})", {"rope_scaling.rope_type is 'proportional'"});
    row("qwen2", R"({"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}})", {"mrope"});
    row("qwen2", R"({"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1, 2]}})", {"mrope_section"});
    row("llama", R"({"rope_scaling": {"type": "linear", "rope_type": "dynamic", "factor": 2}})",
        {"rope_scaling.type", "'dynamic'"});
    row("llama", R"({"rope_scaling": {"type": "linear"}})", {"rope_scaling.factor is missing"});
    row("llama", R"({"rope_scaling": {"type": "dynamic", "factor": 0.5}})", {"rope_scaling.factor is 0.5"});
    row("llama", R"({"rope_scaling": {"factor": 2}})", {"rope_scaling.factor"});
    row("llama", R"({"rope_scaling": {"type": "linear", "factor": 2, "attention_factor": 1.5}})",
        {"rope_scaling.attention_factor"});
    row("llama", R"({"rope_scaling": {"type": "linear", "factor": 2, "something": 1}})", {"rope_scaling.something"});
    row("llama", R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
      "original_max_position_embeddings": 64}})",
        {"rope_scaling.high_freq_factor is missing"});
    row("llama", R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4,
      "original_max_position_embeddings": 64}})",
        {"rope_scaling.high_freq_factor is 4", "low_freq_factor"});
    row("llama", R"({"rope_scaling": {"type": "dynamic", "factor": 2}, "head_dim": 2})",
        {"rope_scaling.rope_type", "4"});
    row("llama", R"({"rope_scaling": "linear"})", {"rope_scaling is 'linear'", "object"});
    row("llama", R"({"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "default"}})",
        {"rope_scaling", "rope_parameters"});
    row("llama", R"({"original_max_position_embeddings": 32, "rope_scaling": {"type": "yarn", "factor": 2,
      "original_max_position_embeddings": 64}})",
        {"original_max_position_embeddings is 64", "32"});
    row("llama", R"({"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e6}}})",
        {"rope_parameters.full_attention", "layer type"});
    row("qwen2",
        R"({"use_sliding_window": true, "max_window_layers": 2, "rope_parameters": {"sliding_attention": {}}})",
        {"rope_parameters.sliding_attention", "layer type"});
    row("qwen3", R"({"rope_scaling": {"full_attention": {}}})", {"rope_scaling.full_attention"});
    row("llama", R"({"pad_token_id": 100000})", {"pad_token_id is 100000", "vocab_size"});
    // Tokens.
    row("llama", R"({"eos_token_id": ["x"]})", {"eos_token_id[0]"});
    row("llama", R"({"eos_token_id": "x"})", {"eos_token_id is 'x'"});
    row("llama", R"({"bos_token_id": 1.5})", {"bos_token_id is 1.5"});
  }
  void refused() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    QFETCH(QStringList, parts);
    const auto spec = import(family.toStdString(), change.toStdString());
    QVERIFY(!spec);
    QCOMPARE(spec.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(spec.error().message);
    QVERIFY2(message.startsWith("some/config.json: "), qPrintable(message));
    for (const QString& part : parts) QVERIFY2(message.contains(part), qPrintable(message + " lacks " + part));
  }

  void brokenFiles_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("part");
    LocalFileSystem files;
    const std::string whole = valueOrThrow(readTextFile(files, goldenFolder("llama_gqa") / "config.json"));
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 2})
      QTest::addRow("cut at %zu", size) << QByteArray(whole.data(), static_cast<qsizetype>(size)) << "not valid JSON";
    QTest::newRow("a list") << QByteArray("[1]") << "expected an object";
    QTest::newRow("null") << QByteArray("null") << "model_type is missing";
    QTest::newRow("not UTF-8") << QByteArray("{\"model_type\": \"ll\xff\"}") << "not valid JSON";
    QTest::newRow("a key twice") << QByteArray(R"({"model_type": "llama", "model_type": "gpt2"})") << "twice";
    QTest::newRow("deep") << QByteArray("{\"model_type\":" + QByteArray(500, '[')) << "deeper";
  }
  void brokenFiles() {
    QFETCH(QByteArray, text);
    QFETCH(QString, part);
    QTemporaryDir folder;
    const Path path = Path(folder.path().toStdString());
    writeBytes(path / "config.json", text.toStdString());
    LocalFileSystem files;
    const auto spec = readModelConfig(files, path);
    QVERIFY(!spec);
    QCOMPARE(spec.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(spec.error().message);
    QVERIFY2(message.contains("config.json") && message.contains(part), qPrintable(message));
  }

  void missingFiles() {
    QTemporaryDir folder;
    const Path path = Path(folder.path().toStdString());
    LocalFileSystem files;
    const auto nothing = readModelConfig(files, path);
    QVERIFY(!nothing && nothing.error().message.find("config.json: not found") != std::string::npos);
    writeBytes(path / "adapter_config.json", "{}");
    const auto adapter = readModelConfig(files, path);
    QVERIFY(!adapter && adapter.error().message.find("adapter") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestConfigImport)
#include "test_config_import.moc"

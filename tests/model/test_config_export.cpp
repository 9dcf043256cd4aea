// Config export: what is written imports to the same spec, without warnings, in keys that the family has.
#include "base/random.h"
#include "configs.h"
#include "model/blocks.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::test;

class TestConfigExport : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void goldenRoundTrip_data() {
    QTest::addColumn<QString>("name");
    for (const std::string& name : goldenCases()) QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
  }
  void goldenRoundTrip() {
    QFETCH(QString, name);
    LocalFileSystem files;
    check(valueOrThrow(readModelConfig(files, goldenFolder(name.toStdString()))));
  }

  void roundTrip_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    const auto row = [](const char* family, const char* change) {
      QTest::addRow("%s %s", family, change) << family << change;
    };
    for (const char* family : {"llama", "qwen2", "qwen3", "mistral", "gpt2", "olmo2", "gemma", "gemma2", "mixtral"})
      row(family, "");
    row("llama", R"({"attention_bias": true, "mlp_bias": true, "hidden_act": "relu2"})");
    row("llama", R"({"rope_scaling": {"type": "linear", "factor": 2}, "hidden_act": "gelu"})");
    row("llama", R"({"rope_scaling": {"type": "dynamic", "factor": 2}, "hidden_act": "gelu_new"})");
    row("llama", R"({"rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64,
      "mscale": 1.2, "mscale_all_dim": 0.7, "beta_fast": 16, "beta_slow": 2, "truncate": false}})");
    row("llama", R"({"rope_scaling": {"rope_type": "yarn", "factor": 4, "attention_factor": 1.1}})");
    row("llama", R"({"bos_token_id": null, "eos_token_id": [3, 4], "tie_word_embeddings": true, "rope_theta": 5e5})");
    row("qwen2", R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 2})");
    row("qwen3", R"({"use_sliding_window": true, "sliding_window": 8, "attention_bias": true, "layer_types":
      ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})");
    row("mistral", R"({"sliding_window": null})");
    row("mistral", R"({"sliding_window": 100, "head_dim": 16})");
    row("mixtral", R"({"num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 8, "rope_theta": 1e4})");
    for (const char* normalize : {"true", "false"})
      row("qwen3_moe", qPrintable(QString(R"({"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
        "norm_topk_prob": %1, "attention_bias": %1})")
                                      .arg(normalize)));
    row("qwen3_moe",
        R"({"num_experts": 6, "num_experts_per_tok": 2, "use_sliding_window": true, "sliding_window": 8})");
    row("olmo2", R"({"attention_bias": true, "pad_token_id": 5})");
    row("gemma2", R"({"attn_logit_softcapping": null, "query_pre_attn_scalar": 144, "sliding_window": 8})");
    row("gemma2", R"({"final_logit_softcapping": null, "query_pre_attn_scalar": 0.3, "sliding_window": null})");
    row("gemma2", R"({"layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"]})");
    row("gpt2", R"({"scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true})");
    row("gpt2", R"({"scale_attn_by_inverse_layer_idx": true, "n_inner": 64, "activation_function": "gelu"})");
    row("gpt2", R"({"scale_attn_weights": false, "tie_word_embeddings": false})");
    row("gpt2", R"({"n_embd": 4, "n_head": 4})");
  }
  /// Whatever the number was, the same scale.
  void queryScales() {
    Random random(2);
    for (int i = 0; i < 2000; ++i) {
      const double scalar = i < 1000 ? i + 1 : std::exp(20 * random.uniform() - 10);
      Json config = changedConfig("gemma2", "");
      config["query_pre_attn_scalar"] = scalar;
      const ModelSpec spec = valueOrThrow(modelSpecFromConfig(config, "config"));
      const Json exported = configFromModelSpec(spec, "float32");
      QVERIFY(valueOrThrow(modelSpecFromConfig(exported, "exported")) == spec);
      if (i < 1000) QVERIFY(exported["query_pre_attn_scalar"].is_number_integer());
    }
  }

  void roundTrip() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    check(valueOrThrow(modelSpecFromConfig(changedConfig(family.toStdString(), change.toStdString()), "config")));
  }

 private:
  void check(const ModelSpec& spec) {
    const Json config = configFromModelSpec(spec, "bfloat16");
    QCOMPARE(config["torch_dtype"].get<std::string>(), std::string("bfloat16"));
    const Json parsed = valueOrThrow(parseJson(config.dump(2), "exported"));
    std::vector<std::string> warnings;
    const auto again = modelSpecFromConfig(parsed, "exported", &warnings);
    QVERIFY2(again, again ? "" : again.error().message.c_str());
    QVERIFY(*again == spec);
    QVERIFY2(warnings.empty(), warnings.empty() ? "" : warnings.front().c_str());
  }
};

QTEST_GUILESS_MAIN(TestConfigExport)
#include "test_config_export.moc"

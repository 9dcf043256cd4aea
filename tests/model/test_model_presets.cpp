// Presets have the published numbers of parameters, and any size asked for is met by a model that looks like one.
#include "engine/model_presets.h"

#include "model/blocks.h"
#include "model/config_import.h"

#include <QtTest>
#include <cmath>
#include <filesystem>
#include <set>

using namespace millrace;

namespace {

/// From the config's keys alone, as their papers count: what is tied once.
std::int64_t countFromKeys(const Json& c) {
  const auto n = [&](const char* key) { return c.at(key).get<std::int64_t>(); };
  const std::string type = c.at("model_type");
  if (type == "gpt2") {
    const std::int64_t d = n("n_embd");
    const std::int64_t layer = 4 * d                                // two norms with biases
                               + d * 3 * d + 3 * d + d * d + d      // attention
                               + d * 4 * d + 4 * d + 4 * d * d + d; // MLP
    return n("vocab_size") * d + n("n_positions") * d + n("n_layer") * layer + 2 * d;
  }
  const std::int64_t d = n("hidden_size"), q = n("num_attention_heads") * n("head_dim");
  const std::int64_t kv = n("num_key_value_heads") * n("head_dim");
  const bool mixture = c.contains("num_experts_per_tok");
  const std::int64_t inner = n(type == "qwen3_moe" ? "moe_intermediate_size" : "intermediate_size");
  const std::int64_t experts = mixture ? n(type == "mixtral" ? "num_local_experts" : "num_experts") : 1;
  std::int64_t layer = 2 * d + d * q + 2 * d * kv + q * d + experts * 3 * d * inner;
  if (mixture) layer += experts * d; // the router
  if (type == "qwen2") layer += q + 2 * kv;
  if (type == "qwen3" || type == "qwen3_moe") layer += 2 * n("head_dim");
  if (type == "olmo2") layer += q + kv;
  if (type == "gemma2") layer += 2 * d; // two more norms
  const std::int64_t tables = c.at("tie_word_embeddings").get<bool>() ? 1 : 2;
  return tables * n("vocab_size") * d + n("num_hidden_layers") * layer + d;
}

} // namespace

class TestModelPresets : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void publishedCounts_data() {
    QTest::addColumn<qint64>("count");
    const auto row = [](const char* name, qint64 count) { QTest::newRow(name) << count; };
    row("gpt2-124m", 124439808);
    row("gpt2-355m", 354823168);
    row("gpt2-774m", 774030080);
    row("gpt2-1.5b", 1557611200);
    row("gpt3-175b", 174604259328);
    row("llama-2-7b", 6738415616);
    row("llama-2-13b", 13015864320);
    row("llama-2-70b", 68976648192);
    row("llama-3-8b", 8030261248);
    row("llama-3-70b", 70553706496);
    row("llama-3-405b", 405853388800);
    row("llama-101b", 100984760320);
    row("qwen2.5-0.5b", 494032768);
    row("qwen2.5-1.5b", 1543714304);
    row("qwen2.5-3b", 3085938688);
    row("qwen2.5-7b", 7615616512);
    row("qwen2.5-14b", 14770033664);
    row("qwen2.5-32b", 32763876352);
    row("qwen2.5-72b", 72706203648);
    row("qwen3-0.6b", 596049920);
    row("qwen3-1.7b", 1720574976);
    row("qwen3-4b", 4022468096);
    row("qwen3-8b", 8190735360);
    row("qwen3-14b", 14768307200);
    row("qwen3-32b", 32762123264);
    row("mistral-7b", 7241732096);
    row("gemma-2-2b", 2614341888);
    row("gemma-2-9b", 9241705984);
    row("gemma-2-27b", 27227128320);
    row("olmo-2-7b", 7298617344);
    row("olmo-2-13b", 13716198400);
    row("mixtral-8x7b", 46702792704);
    row("qwen3-30b-a3b", 30532122624);
  }
  void publishedCounts() {
    QFETCH(qint64, count);
    const auto config = presetConfig(QTest::currentDataTag());
    QVERIFY2(config.has_value(), config ? "" : config.error().message.c_str());
    QVERIFY(config->file.empty());
    const auto json = parseJson(config->text, "preset");
    QVERIFY2(json.has_value(), json ? "" : json.error().message.c_str());
    QCOMPARE(countFromKeys(*json), std::int64_t{count});
    std::vector<std::string> warnings;
    const auto spec = modelSpecFromConfig(*json, "preset", &warnings);
    QVERIFY2(spec.has_value(), spec ? "" : spec.error().message.c_str());
    QVERIFY2(warnings.empty(), warnings.empty() ? "" : warnings.front().c_str());
    QCOMPARE(parameterCount(*spec), std::int64_t{count});
    const bool roped = std::string_view(QTest::currentDataTag()).starts_with("llama-3");
    QCOMPARE(spec->rope && spec->rope->kind == RopeKind::Llama3, roped || count == 100984760320);
  }

  void everyFileIsListedAndCounted() {
    std::set<std::string> files, names, counted;
    for (const auto& entry : std::filesystem::directory_iterator(MILLRACE_SOURCE_DIR "/resources/models"))
      files.insert(entry.path().stem().string());
    for (const ModelPreset& preset : modelPresets()) {
      QVERIFY(names.insert(preset.name).second);
      QVERIFY(preset.description.find(" billion parameters, ") != std::string::npos);
      QVERIFY(preset.description.find('\n') == std::string::npos);
      counted.insert(preset.name);
    }
    QVERIFY(files == names);
    QCOMPARE(names.size(), std::size_t{33});
    QCOMPARE(modelPresets().front().description,
             std::string("openai-community/gpt2: 0.1244 billion parameters, 12 layers of 768"));
  }

  void namesAreFound() {
    QVERIFY(presetConfig("Qwen2.5-7B").has_value());
    const auto near = presetConfig("lama-3-8b");
    QVERIFY(!near.has_value());
    QCOMPARE(near.error().kind, ErrorKind::BadInput);
    QVERIFY(near.error().message.starts_with("there is no model preset 'lama-3-8b'; did you mean 'llama-3-8b'? Pres"));
    const auto far = presetConfig("elephant");
    QVERIFY(!far.has_value());
    QVERIFY(far.error().message.find("did you mean") == std::string::npos);
    for (const ModelPreset& preset : modelPresets())
      QVERIFY2(far.error().message.find(preset.name) != std::string::npos, preset.name.c_str());
  }

  void anySize_data() {
    QTest::addColumn<double>("size");
    for (int i = 0; i <= 140; ++i) { // 20 in each power of ten
      const double size = std::min(1e13, std::round(std::pow(10.0, 6 + i / 20.0)));
      QTest::newRow(qPrintable(QString::number(size, 'g', 4))) << size;
    }
    for (const double size : {1e6 + 1, 99999999.0, 2999999999.0, 3e9, 101e9, 175e9, 9.99e12})
      QTest::newRow(qPrintable("exactly " + QString::number(size, 'f', 0))) << size;
  }
  void anySize() {
    QFETCH(double, size);
    const auto config = modelOfSize(size);
    QVERIFY2(config.has_value(), config ? "" : config.error().message.c_str());
    std::vector<std::string> warnings;
    const auto json = parseJson(config->text, "config");
    const auto spec = modelSpecFromConfig(*json, "config", &warnings);
    QVERIFY2(spec.has_value(), spec ? "" : spec.error().message.c_str());
    QVERIFY(warnings.empty());
    const std::int64_t count = parameterCount(*spec);
    QCOMPARE(countFromKeys(*json), count);
    const double error = std::abs(static_cast<double>(count) / size - 1);
    const QByteArray shape = config->text.c_str();
    QVERIFY2(error <= (size < 1e8 ? 0.02 : 0.01), shape.constData());
    const auto width = static_cast<double>(spec->hidden), layers = static_cast<double>(spec->layers.size());
    const AttentionSpec& attention = spec->attention;
    QVERIFY2(attention.headDim == 64 || attention.headDim == 128, shape.constData());
    QCOMPARE(attention.heads * attention.headDim, spec->hidden);
    QVERIFY2(attention.heads % attention.kvHeads == 0, shape.constData());
    if (size > 1e9) QVERIFY2(attention.kvHeads >= 4 && attention.kvHeads < attention.heads, shape.constData());
    QVERIFY2(layers >= 2 && width / layers >= 16 && width / layers <= 260, shape.constData());
    const double inner = static_cast<double>(spec->mlp.inner) / width;
    QVERIFY2(inner > 1.9 && inner < 4.6, shape.constData());
    // A model is not mostly its embedding.
    QVERIFY2(static_cast<double>(spec->vocabulary) * width < 0.55 * size, shape.constData());
  }

  void impossibleSizes_data() {
    QTest::addColumn<double>("size");
    for (const double size : {0.0, -1.0, 999999.0, 1.1e13, std::nan(""), std::numeric_limits<double>::infinity()})
      QTest::newRow(qPrintable(QString::number(size))) << size;
  }
  void impossibleSizes() {
    QFETCH(double, size);
    const auto config = modelOfSize(size);
    QVERIFY(!config.has_value());
    QCOMPARE(config.error().kind, ErrorKind::BadInput);
  }
};

QTEST_GUILESS_MAIN(TestModelPresets)
#include "test_model_presets.moc"

// Looking at a model before it is trained from: what it is, everything that is wrong with it, and how it would grow.
#include "engine/import.h"
#include "support/model_folder.h"

#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>

using namespace millrace;
using namespace millrace::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The tokenizer with further tokens behind the id.
std::string withAddedTokens(const std::string& tokenizer, std::int64_t first, int count) {
  Json json = *parseJson(tokenizer, "tokenizer");
  for (int i = 0; i < count; ++i)
    json["added_tokens"].push_back({{"id", first + i},
                                    {"content", "<|new" + std::to_string(i) + "|>"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  return json.dump();
}

} // namespace

class TestImport : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void whole_data() {
    QTest::addColumn<QString>("family");
    for (const char* family :
         {"llama", "qwen2", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
      QTest::newRow(family) << QString(family);
  }
  void whole() {
    QFETCH(QString, family);
    const Path folder = at(family.toStdString());
    const ModelSpec spec = writeModelFolder(m_files, folder, smallConfig(family.toStdString()));
    QVERIFY(writeTextFile(m_files, folder / "tokenizer_config.json", R"({"chat_template": "{{ x }}"})").has_value());
    const auto model = importModel(m_files, folder);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(model->problems.count(), std::size_t{0});
    QCOMPARE(model->family, family.toStdString());
    QCOMPARE(model->parameters, parameterCount(spec));
    QCOMPARE(model->bytes, 4 * parameterCount(spec));
    QCOMPARE(model->types, std::vector<std::string>{"F32"});
    QCOMPARE(model->files, std::int64_t{1});
    QCOMPARE(model->vocabulary, std::int64_t{320});
    QCOMPARE(model->tokens, std::int64_t{291});
    QCOMPARE(model->addedRows, std::int64_t{0});
    QVERIFY(model->chatTemplate);
    QCOMPARE(QString::fromStdString(model->folder.string()), QString::fromStdString(folder.string()));
  }

  void goldenFolders_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"llama_gqa", "llama_mha_tied", "llama3_rope_scaled", "qwen2", "qwen3", "mistral_swa",
                             "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
      QTest::newRow(name) << QString(name);
  }
  /// They have no tokenizer, which is all that is wrong with them.
  void goldenFolders() {
    QFETCH(QString, name);
    const auto model = importModel(m_files, Path(MILLRACE_TEST_DATA) / name.toStdString());
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(model->problems.count(), std::size_t{1});
    QVERIFY(contains(model->problems.others.at(0), "tokenizer.json: not found"));
    QCOMPARE(model->files, std::int64_t{name == "qwen2" ? 3 : 1});
  }

  void everyProblemIsListed() {
    const Path folder = at("broken");
    writeModelFolder(m_files, folder, smallConfig("llama"));
    // The config says something else than the tensors: another width of the MLP, and biases.
    Json config = smallConfig("llama");
    config["intermediate_size"] = 128;
    config["attention_bias"] = true;
    config["num_hidden_layers"] = 2;
    QVERIFY(writeTextFile(m_files, folder / "config.json", config.dump()).has_value());
    const auto model = importModel(m_files, folder);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    const ImportProblems& problems = model->problems;
    QCOMPARE(problems.missing.size(), std::size_t{8});    // four biases of two layers
    QCOMPARE(problems.wrongShape.size(), std::size_t{6}); // three matrices of two layers
    QCOMPARE(problems.unexpected.size(), std::size_t{9}); // the third layer
    QCOMPARE(problems.count(), std::size_t{23});
    for (const std::string& name : problems.missing) QVERIFY(contains(name, "bias"));
    for (const std::string& name : problems.wrongShape) QVERIFY(contains(name, "mlp") && contains(name, "expected"));
    for (const std::string& name : problems.unexpected) QVERIFY(contains(name, "layers.2."));
  }

  void tiedTablesThatDiffer() {
    const Path folder = at("differing");
    writeModelFolder(m_files, folder, smallConfig("llama"));
    QVERIFY(writeTextFile(m_files, folder / "config.json", smallConfig("llama", true).dump()).has_value());
    const auto model = importModel(m_files, folder);
    QVERIFY(model.has_value());
    QCOMPARE(model->problems.count(), std::size_t{1});
    QVERIFY(contains(model->problems.others[0], "values differ"));
  }

  void addedTokensGrow() {
    const Path folder = at("grown");
    Json config = smallConfig("llama");
    config["vocab_size"] = 280;
    const std::string tokenizer = smallTokenizer(280);
    writeModelFolder(m_files, folder, config, withAddedTokens(tokenizer, 280, 3));
    auto model = importModel(m_files, folder);
    QVERIFY2(model.has_value(), model ? "" : model.error().message.c_str());
    QCOMPARE(model->problems.count(), std::size_t{0});
    QCOMPARE(model->tokens, std::int64_t{283});
    QCOMPARE(model->addedRows, std::int64_t{3});
    // Another one in its place, with a gap; one of another model.
    QVERIFY(writeTextFile(m_files, at("gap.json"), withAddedTokens(tokenizer, 282, 1)).has_value());
    model = importModel(m_files, folder, at("gap.json"));
    QVERIFY(model && model->problems.count() == 1 && contains(model->problems.others[0], "has id 282"));
    QVERIFY(writeTextFile(m_files, at("larger.json"), smallTokenizer(290)).has_value());
    model = importModel(m_files, folder, at("larger.json"));
    QVERIFY(model && model->problems.count() == 1 && contains(model->problems.others[0], "do not belong together"));
  }

  void tokenizers() {
    const Path folder = at("unspoken");
    writeModelFolder(m_files, folder, smallConfig("llama"), "");
    QVERIFY(writeTextFile(m_files, folder / "tokenizer.model", "x").has_value());
    auto model = importModel(m_files, folder);
    QVERIFY(model && model->problems.count() == 1 && model->tokens == 0);
    QVERIFY(contains(model->problems.others[0], "tokenizer.model is there"));
    QVERIFY(writeTextFile(m_files, folder / "tokenizer.json", "{\"model\": {\"type\": \"Odd\"}}").has_value());
    model = importModel(m_files, folder);
    QVERIFY(model && model->problems.count() == 1 && contains(model->problems.others[0], "tokenizer.json"));
  }

  /// They do not keep the model from training, and are told before it does.
  void brokenSmallFilesAreTold_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("part");
    QTest::newRow("settings") << "generation_config.json"
                              << "{"
                              << "left out of checkpoints and exports";
    QTest::newRow("template") << "chat_template.jinja"
                              << "{% for m in messages %}"
                              << "chat_template.jinja";
    QTest::newRow("good ones") << "chat_template.jinja"
                               << "{{ messages[0].content }}"
                               << "";
  }
  void brokenSmallFilesAreTold() {
    QFETCH(QString, file);
    QFETCH(QString, text);
    QFETCH(QString, part);
    const Path folder = at(QTest::currentDataTag());
    writeModelFolder(m_files, folder, smallConfig("llama"));
    QVERIFY(writeTextFile(m_files, folder / file.toStdString(), text.toStdString()).has_value());
    const auto model = importModel(m_files, folder);
    QVERIFY(model && model->problems.count() == 0);
    QCOMPARE(model->warnings.size(), std::size_t{part.isEmpty() ? 0u : 1u});
    if (!part.isEmpty())
      QVERIFY2(contains(model->warnings[0], part.toStdString()) && contains(model->warnings[0], file.toStdString()),
               model->warnings[0].c_str());
  }

  void refused_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("part");
    QTest::newRow("nothing") << "nothing"
                             << "there is no such folder";
    QTest::newRow("no weights") << "no weights"
                                << "holds neither model.safetensors";
    QTest::newRow("pickles") << "pickles"
                             << "save_pretrained";
    QTest::newRow("without a config") << "without a config"
                                      << "put the model's config.json beside it";
    QTest::newRow("another name") << "another name"
                                  << "odd.safetensors is there: rename it to model.safetensors";
    QTest::newRow("a cache") << "a cache"
                             << "give the folder below its snapshots";
    QTest::newRow("config") << "config"
                            << "attn_logit_softcapping";
  }
  void refused() {
    QFETCH(QString, what);
    QFETCH(QString, part);
    const Path folder = at("refused " + what.toStdString());
    if (what != "nothing") writeModelFolder(m_files, folder, smallConfig("llama"));
    if (what == "no weights" || what == "pickles") std::filesystem::remove(folder / "model.safetensors");
    if (what == "pickles") QVERIFY(writeTextFile(m_files, folder / "pytorch_model.bin", "x").has_value());
    if (what == "without a config") std::filesystem::remove(folder / "config.json");
    if (what == "another name") std::filesystem::rename(folder / "model.safetensors", folder / "odd.safetensors");
    if (what == "a cache") {
      QVERIFY(m_files.createDirectories(folder / "snapshots").has_value());
      std::filesystem::remove(folder / "config.json");
    }
    if (what == "config") {
      Json config = smallConfig("llama");
      config["attn_logit_softcapping"] = 50;
      QVERIFY(writeTextFile(m_files, folder / "config.json", config.dump()).has_value());
    }
    const auto model = importModel(m_files, folder);
    QVERIFY(!model);
    QCOMPARE(model.error().kind, ErrorKind::BadInput);
    QVERIFY2(contains(model.error().message, part.toStdString()), model.error().message.c_str());
  }

 private:
  Path at(const std::string& name) const { return Path(m_folder.path().toStdString()) / name; }
  LocalFileSystem m_files;
  QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestImport)
#include "test_import.moc"

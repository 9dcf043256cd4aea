// Settings of every family beside Hugging Face transformers: for each row of tests/support/model_cases.json a small
// random model is made there, with logits, gradients, six optimizer steps and a greedy continuation, and compared as
// the golden cases are. Skipped where MILLRACE_ORACLE_PYTHON names no Python with torch and transformers; each row is a
// config that must be accepted in any case.
#include "base/atomic_file.h"
#include "engine/check.h"
#include "engine/export.h"
#include "engine/import.h"
#include "model/config_import.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>
#include <fmt/format.h>

using namespace millrace;

namespace {

/// What a row leaves to this: sizes that make a model of a few ten thousand parameters.
Json configOf(Json config) {
  const bool gpt2 = config["model_type"] == "gpt2";
  const Json small = *parseJson(
      gpt2 ? R"({"vocab_size": 150, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "attn_pdrop": 0.0,
                 "embd_pdrop": 0.0, "resid_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0})"
           : R"({"vocab_size": 150, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
                 "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 64,
                 "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": null})",
      "sizes");
  for (const auto& [key, value] : small.items())
    if (!config.contains(key)) config[key] = value;
  return config;
}

} // namespace

class TestModelVariants : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void accepted_data() { addCases(); }
  void accepted();
  void agree_data() { addCases(); }
  void agree();
  void exported_data() { addCases(); }
  void exported();

 private:
  void addCases() const {
    QTest::addColumn<QString>("name");
    for (const auto& [name, config] : m_cases.items()) QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
  Path at(const QString& name) const { return Path(m_folder.path().toStdString()) / name.toStdString(); }

  LocalFileSystem m_files;
  QTemporaryDir m_folder;
  Json m_cases = Json::object();
  bool m_made = false;
};

void TestModelVariants::initTestCase() {
  const Json rows = valueOrThrow(readJsonFile(m_files, MILLRACE_SOURCE_DIR "/tests/support/model_cases.json"));
  for (const auto& [name, config] : rows.items()) m_cases[name] = configOf(config);
  QVERIFY(m_cases.size() > 30);
  const QString python = qEnvironmentVariable("MILLRACE_ORACLE_PYTHON");
  if (python.isEmpty()) return;
  QVERIFY(writeTextFile(m_files, at("cases.json"), m_cases.dump()).has_value());
  QProcess process;
  process.start(python, {QStringLiteral(MILLRACE_SOURCE_DIR "/tests/support/golden_cases.py"), m_folder.path(),
                         m_folder.filePath("cases.json")});
  QVERIFY(process.waitForFinished(400'000));
  QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
  m_made = true;
}

void TestModelVariants::accepted() {
  QFETCH(QString, name);
  const auto spec = modelSpecFromConfig(m_cases[name.toStdString()], "config.json");
  QVERIFY2(spec, spec ? "" : spec.error().message.c_str());
}

void TestModelVariants::agree() {
  QFETCH(QString, name);
  if (!m_made) QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with torch and transformers to compare with");
  const std::vector<GoldenSetting> settings = goldenSettings("cpu");
  for (const GoldenSetting& setting : {settings.front(), settings.back()}) {
    const auto result = checkGolden(m_files, at(name), setting);
    QVERIFY2(result.has_value(), result ? "" : result.error().message.c_str());
    for (const Comparison& c : result->comparisons)
      QVERIFY2(c.passed(), fmt::format("{}: error {:.3g}, bound {:.3g}", c.what, c.error, c.bound).c_str());
  }
}

/// A folder that transformers wrote and one that is exported from it say the same.
void TestModelVariants::exported() {
  QFETCH(QString, name);
  if (!m_made) QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with torch and transformers to compare with");
  const Path again = at(name + " exported");
  const auto exported = exportModel(m_files, {at(name), {}}, again);
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  QVERIFY(valueOrThrow(readModelConfig(m_files, again)) == valueOrThrow(readModelConfig(m_files, at(name))));
}

QTEST_GUILESS_MAIN(TestModelVariants)
#include "test_model_variants.moc"

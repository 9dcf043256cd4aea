// The fuzz targets over their seeds and some thousand changes of each, without a fuzzer: what the readers of models
// must withstand in every test run. tests/fuzz/model_files.cmake says how to fuzz for longer.
#include "fuzz/model_file_targets.h"
#include "fuzz/mutations.h"

#include <QDir>
#include <QtTest>

using namespace millrace;
using namespace millrace::fuzz;

namespace {

struct Target {
  const char* name;
  void (*run)(Bytes8);
  std::vector<std::string_view> words;
};

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"safetensors_file",
       safetensorsFile,
       {"\"dtype\":", "\"F16\"", "\"data_offsets\":", "[0,4]", "{", "}", "\"__metadata__\":"}},
      {"safetensors_index",
       safetensorsIndex,
       {"\"weight_map\":", "../secret.safetensors", "\"one.safetensors\"", "{", "}", "/"}},
      {"model_config",
       modelConfig,
       {"\"model_type\":\"gpt2\",", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2},", "null", "[[[[", "{}",
        "\"layer_types\":[]", "1e308", "true", "\"head_dim\":2,"}},
      {"added_tokens",
       addedTokens,
       {"\"added_tokens\":", "{\"id\":10,\"content\":\"x\"},", "[", "]", "\"vocab\":{}", "null"}},
  };
  return all;
}

} // namespace

class TestFuzzModelFiles : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void withstands_data() {
    QTest::addColumn<int>("target");
    for (std::size_t i = 0; i < targets().size(); ++i) QTest::newRow(targets()[i].name) << static_cast<int>(i);
  }
  void withstands() {
    QFETCH(int, target);
    const Target& tried = targets()[static_cast<std::size_t>(target)];
    const QDir folder(QStringLiteral(MILLRACE_SOURCE_DIR "/tests/fuzz/seeds/") + tried.name);
    const QStringList names = folder.entryList(QDir::Files, QDir::Name);
    QVERIFY2(names.size() >= 3, qPrintable(folder.path()));
    tried.run({});
    for (const QString& name : names) {
      QFile file(folder.filePath(name));
      QVERIFY(file.open(QIODevice::ReadOnly));
      const QByteArray contents = file.readAll();
      const std::vector<std::uint8_t> seed(contents.begin(), contents.end());
      tried.run(seed);
      for (std::size_t size = 0; size < seed.size(); size += 1 + seed.size() / 100)
        tried.run(std::span(seed).first(size));
      Random random(7, name.toStdString());
      std::vector<std::uint8_t> current = seed;
      for (int i = 0; i < 5000; ++i) {
        // Changes gather for a while, then begin anew.
        current = mutated(i % 8 == 0 ? seed : std::move(current), random, tried.words);
        if (current.size() > 65536) current = seed;
        tried.run(current);
      }
    }
  }
};

QTEST_GUILESS_MAIN(TestFuzzModelFiles)
#include "test_fuzz_model_files.moc"

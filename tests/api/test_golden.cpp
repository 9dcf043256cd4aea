// The reference cases, each under the smallest device limit with two slots, for every recompute policy and for one and
// several micro-batches; and that a changed expectation is noticed.
#include "base/json_reader.h"
#include "engine/check.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

using namespace millrace;

namespace {
/// A GPU where one is named for tests.
const std::string testDevice = qEnvironmentVariable("MILLRACE_TEST_DEVICE", "cpu").toStdString();
} // namespace

class TestGolden : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cases_data();
  void cases();
  void placesChangeNoBit();
  void changedExpectationFails();

 private:
  std::vector<GoldenSetting> settings() const { return goldenSettings(testDevice, m_drive.path().toStdString()); }

  const QTemporaryDir m_drive;
  LocalFileSystem m_files;
};

void TestGolden::cases_data() {
  QTest::addColumn<QString>("folder");
  QTest::addColumn<int>("setting");
  for (const char* name : {"llama_gqa", "llama_mha_tied", "llama3_rope_scaled", "qwen2", "qwen3", "mistral_swa", "gpt2",
                           "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe", "llama_padding"}) {
    const std::vector<GoldenSetting> settings = this->settings();
    for (std::size_t i = 0; i < settings.size(); ++i) {
      std::string row = fmt::format("{}, {}", name, settings[i].name());
      std::replace(row.begin(), row.end(), ':', ' '); // with which no row could be named on a command line
      QTest::newRow(row.c_str()) << QString(MILLRACE_TEST_DATA "/") + name << static_cast<int>(i);
    }
  }
}

void TestGolden::cases() {
  QFETCH(QString, folder);
  QFETCH(int, setting);
  const auto result = checkGolden(m_files, folder.toStdString(), settings()[static_cast<std::size_t>(setting)]);
  QVERIFY2(result.has_value(), result ? "" : result.error().message.c_str());
  QVERIFY(result->comparisons.size() > 40);
  for (const Comparison& c : result->comparisons)
    QVERIFY2(c.passed(), fmt::format("{}: error {:.3g}, bound {:.3g}", c.what, c.error, c.bound).c_str());
}

/// The case with the most layers of different kinds beside one of plain layers; with one micro-batch and with several.
void TestGolden::placesChangeNoBit() {
  std::map<std::string, std::string> bits; // of the first place, by all else
  std::set<GoldenPlace> places;
  for (const char* name : {"llama_gqa", "gemma2", "qwen3_moe", "gpt2"})
    for (const GoldenSetting& setting : settings()) {
      if (setting.recompute != Recompute::None) continue;
      const auto result = checkGolden(m_files, Path(MILLRACE_TEST_DATA) / name, setting);
      QVERIFY2(result.has_value(), result ? "" : result.error().message.c_str());
      places.insert(setting.place);
      const auto [first, isFirst] = bits.emplace(fmt::format("{}{}", name, setting.severalMicroBatches), result->bits);
      QVERIFY2(isFirst || first->second == result->bits, fmt::format("{}, {}", name, setting.name()).c_str());
    }
  QCOMPARE(places.size(), std::size_t{4});
}

void TestGolden::changedExpectationFails() {
  QTemporaryDir folder;
  const Path copy = folder.path().toStdString();
  for (const auto& entry : std::filesystem::directory_iterator(MILLRACE_TEST_DATA "/llama_mha_tied"))
    std::filesystem::copy_file(entry.path(), copy / entry.path().filename());
  auto expected = readJsonFile(m_files, copy / "expected.json");
  QVERIFY(expected.has_value());
  Json& value = (*expected)["gradients"]["model.norm.weight"]["value"][3];
  value = value.get<double>() * 1.01 + 1e-3;
  std::filesystem::permissions(copy / "expected.json", std::filesystem::perms::owner_all);
  auto file = m_files.open(copy / "expected.json", OpenMode::Create);
  QVERIFY(file.has_value());
  const std::string text = expected->dump();
  QVERIFY((*file)->write(std::as_bytes(std::span(text)), 0).has_value());
  const auto result = checkGolden(m_files, copy, goldenSettings(testDevice)[0]);
  QVERIFY(result.has_value());
  QVERIFY(!result->passed());
}

QTEST_GUILESS_MAIN(TestGolden)
#include "test_golden.moc"

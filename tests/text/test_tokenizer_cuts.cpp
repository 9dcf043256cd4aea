// Where places of a text fall among its tokens, against the offsets that Hugging Face tokenizers gives.
#include "base/json_reader.h"
#include "text/tokenizer.h"

#include <QtTest>
#include <algorithm>

using namespace millrace;

namespace {

/// Where a character begins that no normalizer joins with the one before it.
std::vector<std::size_t> characterStarts(const std::string& text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    const bool accent = first == 0xCC || first == 0xCD;
    if ((first & 0xC0) != 0x80 && !accent) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

} // namespace

class TestTokenizerCuts : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  Json m_cases;

 private Q_SLOTS:
  void initTestCase() {
    m_cases = valueOrThrow(readJsonFile(m_files, Path(MILLRACE_TEST_DATA) / "tokenizers/begins.json"));
  }

  void placesAreThoseOfTheReference_data() {
    QTest::addColumn<QString>("kind");
    for (const auto& [kind, cases] : m_cases.items()) QTest::newRow(kind.c_str()) << QString::fromStdString(kind);
  }
  void placesAreThoseOfTheReference() {
    QFETCH(QString, kind);
    const Tokenizer tokenizer = valueOrThrow(
        Tokenizer::load(m_files, Path(MILLRACE_TEST_DATA) / "tokenizers" / kind.toStdString() / "tokenizer.json"));
    const Json& cases = m_cases[kind.toStdString()];
    QVERIFY(cases.size() > 5);
    for (const Json& expected : cases) {
      const auto text = expected["text"].get<std::string>();
      const auto begins = expected["begins"].get<std::vector<std::size_t>>();
      const std::vector<std::size_t> every = characterStarts(text);
      // All places at once, and each by itself.
      std::vector<std::vector<std::size_t>> choices{every, {}};
      for (const std::size_t cut : every) choices.push_back({cut});
      for (const auto& cuts : choices) {
        std::vector<std::int32_t> ids{7};
        std::vector<std::size_t> before;
        QVERIFY(tokenizer.encodeCut(text, cuts, ids, before));
        QCOMPARE(ids.front(), 7);
        QVERIFY(std::vector<std::int32_t>(ids.begin() + 1, ids.end()) ==
                expected["ids"].get<std::vector<std::int32_t>>());
        QCOMPARE(before.size(), cuts.size());
        for (std::size_t i = 0; i < cuts.size(); ++i) {
          const auto known = std::count_if(begins.begin(), begins.end(), [&](std::size_t b) { return b < cuts[i]; });
          QVERIFY2(static_cast<std::ptrdiff_t>(before[i]) == known,
                   qPrintable(QString("%1: byte %2 is behind %3 tokens, expected %4")
                                  .arg(QString::fromStdString(text).left(60))
                                  .arg(cuts[i])
                                  .arg(before[i])
                                  .arg(known)));
        }
      }
    }
  }

  void textThatIsNotUtf8IsRefused() {
    const Tokenizer tokenizer =
        valueOrThrow(Tokenizer::load(m_files, Path(MILLRACE_TEST_DATA) / "tokenizers/gpt2/tokenizer.json"));
    std::vector<std::int32_t> ids;
    std::vector<std::size_t> before;
    const std::vector<std::size_t> cuts{1};
    QVERIFY(!tokenizer.encodeCut("\xFF\xFE", cuts, ids, before));
    QVERIFY(ids.empty());
  }
};

QTEST_GUILESS_MAIN(TestTokenizerCuts)
#include "test_tokenizer_cuts.moc"

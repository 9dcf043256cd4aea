// Tokenizers in the manner of released models, against what Hugging Face tokenizers gives for the same texts.
#include "base/json_reader.h"
#include "text/text_stream.h"
#include "text/tokenizer.h"

#include <QtTest>
#include <map>

using namespace millrace;

namespace {
const std::vector<std::string> kinds = {"gpt2", "llama3", "qwen2", "digits", "llama2", "metaspace"};

Path folder(const std::string& kind) {
  return Path(MILLRACE_TEST_DATA) / "tokenizers" / kind;
}

QString shown(const std::vector<std::int32_t>& ids) {
  QStringList list;
  for (const std::int32_t id : ids) list << QString::number(id);
  return list.join(' ');
}
} // namespace

class TestTokenizerGolden : public QObject {
  Q_OBJECT

  std::map<std::string, Tokenizer> m_tokenizers;
  std::map<std::string, Json> m_cases;

 private Q_SLOTS:
  void initTestCase() {
    LocalFileSystem files;
    for (const std::string& kind : kinds) {
      auto tokenizer = Tokenizer::load(files, folder(kind) / "tokenizer.json");
      QVERIFY2(tokenizer.has_value(), tokenizer ? "" : tokenizer.error().message.c_str());
      m_tokenizers.emplace(kind, std::move(*tokenizer));
      auto cases = readJsonFile(files, folder(kind) / "cases.json");
      QVERIFY2(cases.has_value(), cases ? "" : cases.error().message.c_str());
      QVERIFY(cases->size() >= 100);
      m_cases.emplace(kind, std::move(*cases));
    }
  }

  void agrees_data() {
    QTest::addColumn<QString>("kind");
    for (const std::string& kind : kinds) QTest::newRow(kind.c_str()) << QString::fromStdString(kind);
  }
  void agrees() {
    QFETCH(QString, kind);
    const Tokenizer& tokenizer = m_tokenizers.at(kind.toStdString());
    int number = 0;
    for (const Json& expected : m_cases.at(kind.toStdString())) {
      const std::string text = expected["text"].get<std::string>();
      const QString place = QString("case %1: %2").arg(number++).arg(QString::fromStdString(text).left(60));
      const auto ids = expected["ids"].get<std::vector<std::int32_t>>();
      const auto plain = expected["ids_no_special"].get<std::vector<std::int32_t>>();
      const auto gotIds = tokenizer.encode(text, true);
      const auto gotPlain = tokenizer.encode(text, false);
      QVERIFY(gotIds && gotPlain);
      QVERIFY2(*gotIds == ids, qPrintable(place + "\n  got      " + shown(*gotIds) + "\n  expected " + shown(ids)));
      QVERIFY2(*gotPlain == plain,
               qPrintable(place + "\n  got      " + shown(*gotPlain) + "\n  expected " + shown(plain)));
      QCOMPARE(QString::fromStdString(tokenizer.decode(ids, true)),
               QString::fromStdString(expected["decoded"].get<std::string>()));
      QCOMPARE(QString::fromStdString(tokenizer.decode(ids, false)),
               QString::fromStdString(expected["decoded_with_special"].get<std::string>()));
    }
  }

  void streamEqualsDecode_data() { agrees_data(); }
  void streamEqualsDecode() {
    QFETCH(QString, kind);
    const Tokenizer& tokenizer = m_tokenizers.at(kind.toStdString());
    for (const Json& expected : m_cases.at(kind.toStdString())) {
      const auto ids = expected["ids"].get<std::vector<std::int32_t>>();
      for (const bool skip : {true, false}) {
        TextStream stream(tokenizer, skip);
        std::string text;
        for (const std::int32_t id : ids) text += stream.push(id);
        text += stream.finish();
        QCOMPARE(QString::fromStdString(text), QString::fromStdString(tokenizer.decode(ids, skip)));
      }
    }
  }

  void tokenBytesAddUp_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"llama3", "qwen2", "digits"}) QTest::newRow(kind) << QString(kind);
  }
  /// In byte-level files the bytes of a text's tokens are the bytes of the text.
  void tokenBytesAddUp() {
    QFETCH(QString, kind);
    const Tokenizer& tokenizer = m_tokenizers.at(kind.toStdString());
    for (const Json& expected : m_cases.at(kind.toStdString())) {
      const auto ids = expected["ids_no_special"].get<std::vector<std::int32_t>>();
      std::int64_t bytes = 0;
      for (const std::int32_t id : ids) bytes += tokenizer.tokenBytes(id);
      QCOMPARE(bytes, static_cast<std::int64_t>(tokenizer.decode(ids, true).size()));
    }
  }
};

QTEST_GUILESS_MAIN(TestTokenizerGolden)
#include "test_tokenizer_golden.moc"

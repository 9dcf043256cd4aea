// Which tokens of a tokenizer.json make a model's tables grow, and which say that it is another model's.
#include "model/vocabulary_growth.h"

#include <QtTest>

using namespace millrace;

class TestVocabularyGrowth : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rows_data() {
    QTest::addColumn<QByteArray>("tokenizer");
    QTest::addColumn<int>("rows"); // 0: refused; the model has 4
    QTest::addColumn<QStringList>("added");
    const auto row = [](const char* name, const char* added, int rows, const QStringList& tokens,
                        const char* vocabulary = R"({"a": 0, "b": 1, "c": 2})") {
      QTest::newRow(name) << QByteArray("{\"added_tokens\": ") + added + ", \"model\": {\"vocab\": " + vocabulary + "}}"
                          << rows << tokens;
    };
    row("none", "[]", 4, {});
    row("null", "null", 4, {});
    row("inside", R"([{"id": 3, "content": "<s>"}])", 4, {});
    row("one", R"([{"id": 3, "content": "<s>"}, {"id": 4, "content": "<new>"}])", 5, {"<new>"});
    row("several in any order", R"([{"id": 6, "content": "z"}, {"id": 4, "content": "x"}, {"id": 5, "content": "y"}])",
        7, {"x", "y", "z"});
    row("a gap", R"([{"id": 5, "content": "far"}])", 0, {});
    row("a huge id", R"([{"id": 2000000000, "content": "far"}])", 0, {});
    row("more than an id can be", R"([{"id": 18446744073709551615, "content": "far"}])", 4, {});
    row("negative", R"([{"id": -1, "content": "x"}])", 4, {});
    row("no numbers", R"([{"id": "4", "content": "x"}, {"content": "y"}, 7, null])", 4, {});
    row("content that is no text", R"([{"id": 4, "content": 5}])", 4, {});
    row("another model's", R"([{"id": 7, "content": "x"}])", 4, {}, R"({"a": 0, "b": 6})");
    row("entries as a list", R"([{"id": 4, "content": "x"}])", 5, {"x"}, R"([["a", 0.0], ["b", -1.0]])");
    row("entries as a longer list", R"([{"id": 5, "content": "x"}])", 4, {},
        R"([["a", 0], ["b", 0], ["c", 0], ["d", 0], ["e", 0]])");
    row("no entries", R"([{"id": 4, "content": "x"}])", 5, {"x"}, "null");
  }
  void rows() {
    QFETCH(QByteArray, tokenizer);
    QFETCH(int, rows);
    QFETCH(QStringList, added);
    const auto growth = vocabularyGrowth(*parseJson(tokenizer.toStdString(), "t"), 4, "tokenizer.json");
    QCOMPARE(growth.has_value(), rows != 0);
    if (rows == 0) {
      QVERIFY2(growth.error().message.starts_with("tokenizer.json: the added token 'far'"),
               growth.error().message.c_str());
      return;
    }
    QCOMPARE(growth->rows, std::int64_t{rows});
    QStringList names;
    for (const std::string& token : growth->added) names << QString::fromStdString(token);
    QCOMPARE(names, added);
  }

  void whatIsNoTokenizerGrowsNothing() {
    for (const char* text : {"[]", "3", "null", "\"x\"", "{}", R"({"added_tokens": {}})", R"({"model": []})"}) {
      const auto growth = vocabularyGrowth(*parseJson(text, "t"), 4, "t");
      QVERIFY(growth && growth->rows == 4 && growth->added.empty());
    }
  }
};

QTEST_GUILESS_MAIN(TestVocabularyGrowth)
#include "test_vocabulary_growth.moc"

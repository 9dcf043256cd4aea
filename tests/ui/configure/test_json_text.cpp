// Edits of JSON text change what they must and nothing else.
#include "configure/json_text.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::ui;

namespace {

const char* const project = R"({
  "format": 1,
  "model": { "folder": "m" },
  "data": {
    "sources": ["a.txt",
                "b.txt"], "bad_rows": 3
  },
  "training": {
    "steps": 600,
    "learning_rate": 2e-3
  },
  "other": {"kept" : [ 1,2 , 3 ]}
}
)";

/// The project with one text in place of another, which occurs once.
QString changed(const char* before, const char* after) {
  QString text(project);
  Q_ASSERT(text.count(before) == 1);
  return text.replace(before, after);
}

} // namespace

class TestJsonText : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void setting_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* key, const char* value, const QString& expected) {
      QTest::newRow(name) << QString(key) << QString(value) << expected;
    };
    row("number", "training.steps", "50", changed("600", "50"));
    row("the same number", "training.learning_rate", "0.002", QString(project));
    row("another number", "training.learning_rate", "3e-4", changed("2e-3", "0.0003"));
    row("text for a number", "training.steps", "\"many \\\"or\\\" few\"", changed("600", "\"many \\\"or\\\" few\""));
    row("new key in lines", "training.seed", "7", changed("2e-3\n", "2e-3,\n    \"seed\": 7\n"));
    row("new key on one line", "model.x", "1", changed(R"({ "folder": "m" })", R"({ "folder": "m", "x": 1 })"));
    row("new key of the whole", "name", R"("n")", changed("3 ]}\n}", "3 ]},\n  \"name\": \"n\"\n}"));
    row("new objects", "memory.nvme.limit", "5",
        changed("3 ]}\n}", "3 ]},\n  \"memory\": { \"nvme\": { \"limit\": 5 } }\n}"));
    row("object for a text", "model.folder.deep", "1", changed(R"("m" })", R"({ "deep": 1 } })"));
    row("list longer", "data.sources", R"(["a.txt", "b.txt", "c"])",
        changed("\"b.txt\"]", "\"b.txt\",\n                \"c\"]"));
    row("list longer at its head", "data.sources", R"(["c", "a.txt", "b.txt"])",
        changed("[\"a.txt\"", "[\"c\",\n                \"a.txt\""));
    row("list shorter", "data.sources", R"(["a.txt"])", changed(",\n                \"b.txt\"", ""));
    row("list shorter at its head", "data.sources", R"(["b.txt"])", changed("\"a.txt\",\n                ", ""));
    row("list in another order", "data.sources", R"(["b.txt", "a.txt"])",
        changed("[\"a.txt\",\n                \"b.txt\"]", "[\"b.txt\",\n                \"a.txt\"]"));
    row("list emptied", "data.sources", "[]", changed("[\"a.txt\",\n                \"b.txt\"]", "[]"));
    row("element", "data.sources.1", R"({"path": "b.txt"})", changed("\"b.txt\"]", "{ \"path\": \"b.txt\" }]"));
    row("object changed inside", "training", R"({"steps": 600, "learning_rate": 0.002, "seed": 1})",
        changed("2e-3\n", "2e-3,\n    \"seed\": 1\n"));
    row("object with a key less", "training", R"({"learning_rate": 0.002})", changed("\"steps\": 600,\n    ", ""));
  }
  void setting() {
    QFETCH(QString, key);
    QFETCH(QString, value);
    QFETCH(QString, expected);
    const Json json = *parseJson(value.toStdString(), "value");
    const std::string text = withValue(project, key.toStdString(), json);
    QCOMPARE(QString::fromStdString(text), expected);
    const Json* found = nullptr;
    const Json parsed = *parseJson(text, "text");
    found = valueAt(parsed, key.toStdString());
    QVERIFY(found && *found == json);
  }

  void replacing_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QStringList>("replaced");
    QTest::addColumn<QString>("expected");
    QTest::newRow("in place") << "training.tokens"
                              << "5" << QStringList{"training.steps", "training.hours"}
                              << changed("\"steps\": 600", "\"tokens\": 5");
    QTest::newRow("of another depth") << "model.config.hidden_size"
                                      << "64" << QStringList{"model.folder"}
                                      << changed("\"folder\": \"m\"", "\"config\": { \"hidden_size\": 64 }");
    QTest::newRow("beside the key itself")
        << "training.learning_rate"
        << "1" << QStringList{"training.steps"}
        << changed("\"steps\": 600,\n    \"learning_rate\": 2e-3", "\"learning_rate\": 1");
    QTest::newRow("what is not there") << "training.steps"
                                       << "5" << QStringList{"training.tokens"} << changed("600", "5");
  }
  void replacing() {
    QFETCH(QString, key);
    QFETCH(QString, value);
    QFETCH(QStringList, replaced);
    std::vector<std::string> keys;
    for (const QString& other : replaced) keys.push_back(other.toStdString());
    const std::string text = withValue(project, key.toStdString(), *parseJson(value.toStdString(), "value"), keys);
    QTEST(QString::fromStdString(text), "expected");
  }

  void removing_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("expected");
    QTest::newRow("first") << "training.steps" << changed("\"steps\": 600,\n    ", "");
    QTest::newRow("last") << "training.learning_rate" << changed(",\n    \"learning_rate\": 2e-3", "");
    QTest::newRow("only one") << "model.folder" << changed("\"model\": { \"folder\": \"m\" },\n  ", "");
    QTest::newRow("whole section") << "other" << changed(",\n  \"other\": {\"kept\" : [ 1,2 , 3 ]}", "");
    QTest::newRow("not there") << "training.seed" << QString(project);
    QTest::newRow("not there at all") << "memory.nvme.limit" << QString(project);
  }
  void removing() {
    QFETCH(QString, key);
    const std::string text = withoutKey(project, key.toStdString());
    QTEST(QString::fromStdString(text), "expected");
    QVERIFY(parseJson(text, "text").has_value());
  }

  void emptyObject() {
    QCOMPARE(withValue("{}", "a", 1), std::string("{\n  \"a\": 1\n}"));
    QCOMPARE(withValue("{ }", "a.b", 1), std::string("{\n  \"a\": { \"b\": 1 }\n}"));
    QCOMPARE(withoutKey("{\"a\": {\"b\": 1}}", "a.b"), std::string("{}"));
  }

  void style_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("tabs") << QByteArray("{\n\t\"a\": 1\n}") << QByteArray("{\n\t\"a\": 1,\n\t\"list\": [1, 2]\n}");
    QTest::newRow("other line ends") << QByteArray("{\r\n  \"a\": 1\r\n}\r\n")
                                     << QByteArray("{\r\n  \"a\": 1,\r\n  \"list\": [1, 2]\r\n}\r\n");
    QTest::newRow("one line") << QByteArray("{\"a\": \"}\\\"]\"}")
                              << QByteArray("{\"a\": \"}\\\"]\", \"list\": [1, 2]}");
    QTest::newRow("byte order mark") << QByteArray("\xEF\xBB\xBF{\"a\": 1}")
                                     << QByteArray("\xEF\xBB\xBF{\"a\": 1, \"list\": [1, 2]}");
  }
  void style() {
    QFETCH(QByteArray, text);
    const std::string edited = withValue(text.toStdString(), "list", Json::array({1, 2}));
    QTEST(QByteArray::fromStdString(edited), "expected");
  }

  void longValuesTakeLines() {
    Json value = Json::object();
    for (const char* key : {"aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccc"})
      value[key] = "ddddddddddddddddddddddddd";
    const std::string text = withValue("{\n    \"a\": 1\n}", "b", value);
    QVERIFY2(text.find("\"b\": {\n        \"aaaaaaaaaaaaaaaaaaaa\": ") != std::string::npos, text.c_str());
    QVERIFY2(text.ends_with("\n    }\n}"), text.c_str());
  }

  void spans() {
    const std::string text(project);
    const auto span = spanOfValue(text, "training.learning_rate");
    QVERIFY(span);
    QCOMPARE(text.substr(span->begin, span->end - span->begin), std::string("2e-3"));
    const auto element = spanOfValue(text, "data.sources.1");
    QVERIFY(element);
    QCOMPARE(text.substr(element->begin, element->end - element->begin), std::string("\"b.txt\""));
    QVERIFY(!spanOfValue(text, "data.sources.2"));
    QVERIFY(!spanOfValue(text, "training.steps.x"));
  }
};

QTEST_GUILESS_MAIN(TestJsonText)
#include "test_json_text.moc"

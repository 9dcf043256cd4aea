// Rows of JSON: documents and conversations made of them, what is refused with which reason, and the account of it.
#include "data/row_judge.h"
#include "data/source_text.h"

#include <QtTest>

using namespace millrace;

namespace {

SourceFile rowsOf(DataFormat format, std::vector<std::string> sets = {}) {
  return {"/d/rows.jsonl", RecordLayout::Lines, {format, "text", "", std::move(sets)}};
}

DecodedRecord decode(const SourceFile& source, std::string bytes) {
  RawRecord record;
  record.bytes = std::move(bytes);
  return decodeRecord(source, std::move(record));
}

/// "user:Hi|assistant:Hello(not learnt)", then the tools.
QString shown(const Conversation& conversation) {
  QStringList parts;
  for (std::size_t i = 0; i < conversation.messages().size(); ++i) {
    Json message = conversation.messages()[i];
    QString part = QString::fromStdString(message["role"].get<std::string>()) + ":" +
                   (message["content"].is_string() ? QString::fromStdString(message["content"].get<std::string>())
                                                   : QString::fromStdString(message["content"].dump()));
    message.erase("role");
    message.erase("content");
    if (!message.empty()) part += QString::fromStdString(message.dump());
    if (!conversation.learnable[i]) part += "(not learnt)";
    parts << part;
  }
  if (conversation.variables.contains("tools"))
    parts << "tools " + QString::fromStdString(conversation.variables["tools"].dump());
  return parts.join('|');
}

} // namespace

class TestSourceRows : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void conversationsAreRead_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<QString>("row");
    QTest::addColumn<QString>("expected"); ///< "!" and a part of the problem, or the conversation
    const auto row = [](const char* name, DataFormat format, const char* text, const char* expected) {
      QTest::newRow(name) << static_cast<int>(format) << QString(text) << QString(expected);
    };
    using enum DataFormat;
    row("alpaca", Alpaca, R"({"instruction":"Add","input":"1 2","output":"3"})", "user:Add\n\n1 2|assistant:3");
    row("alpaca without input", Alpaca, R"({"instruction":"Add","input":"","output":"3"})", "user:Add|assistant:3");
    row("alpaca with all", Alpaca,
        R"({"system":"S","history":[["a","b"]],"instruction":"Add","output":"3","text":"ignored"})",
        "system:S|user:a|assistant:b|user:Add|assistant:3");
    row("alpaca, output is no text", Alpaca, R"({"instruction":"Add","output":3})",
        "!'output' is number, expected a string");
    row("alpaca, bad history", Alpaca, R"({"instruction":"A","output":"b","history":[["a"]]})", "!history");
    row("sharegpt", ShareGpt,
        R"({"conversations":[{"from":"system","value":"S"},{"from":"human","value":"H"},{"from":"gpt","value":"G"}]})",
        "system:S|user:H|assistant:G");
    row("sharegpt, other names", ShareGpt,
        R"({"system":"S","tools":"[{}]","conversations":[{"from":"user","value":"H"},{"from":"model","value":"M"},{"from":"tool","value":"T"},{"from":"assistant","value":"A"}]})",
        "system:S|user:H|assistant:M|tool:T|assistant:A|tools [{}]");
    row("sharegpt with roles", ShareGpt, R"({"conversations":[{"role":"user","content":"H"}]})", "user:H");
    row("unknown role", ShareGpt, R"({"conversations":[{"from":"human","value":"H"},{"from":"bing","value":"B"}]})",
        "!message 2 has the role 'bing'");
    row("messages", Messages,
        R"({"messages":[{"role":"user","content":"H"},{"role":"assistant","content":"A"}],"id":7})",
        "user:H|assistant:A");
    row("weights", Messages,
        R"({"messages":[{"role":"assistant","content":"A","weight":0},{"role":"assistant","content":"B","weight":1},{"role":"assistant","content":"C","train":false},{"role":"assistant","content":"D","train":true}]})",
        "assistant:A(not learnt)|assistant:B|assistant:C(not learnt)|assistant:D");
    row("a weight between", Messages, R"({"messages":[{"role":"assistant","content":"A","weight":0.5}]})",
        "!message 1 has the weight 0.5, expected 0 or 1");
    row("calls of tools", Messages,
        R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f"}}]},{"role":"tool","name":"f","content":"1"}],"tools":[]})",
        R"(assistant:null{"tool_calls":[{"function":{"name":"f"}}]}|tool:1{"name":"f"}|tools [])");
    row("parts of text", Messages,
        R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})",
        "user:ab");
    row("an image", Messages, R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
        "!message 1 holds a part of type image_url");
    row("no content", Messages, R"({"messages":[{"role":"user"}]})", "!message 1 has no content");
    row("a number as content", Messages, R"({"messages":[{"role":"user","content":1}]})",
        "!message 1 has number as its content");
    row("no role", Messages, R"({"messages":[{"content":"a"}]})", "!message 1 has no role");
    row("no object", Messages, R"({"messages":["a"]})", "!message 1 is string");
    row("no list", Messages, R"({"messages":{"role":"user"}})", "!'messages' is object, expected a list");
    row("an empty list", Messages, R"({"messages":[]})", "!empty list");
    row("twice", Messages, R"({"messages":[{"role":"user","content":"a"}],"messages":[]})",
        "!'messages' appears twice");
    row("a list", Messages, R"([1])", "!the row is a list, expected an object");
    row("cut off", Messages, R"({"messages":[{"role":"user","content":"a")", "!not valid JSON at byte");
  }
  void conversationsAreRead() {
    QFETCH(int, format);
    QFETCH(QString, row);
    QFETCH(QString, expected);
    const DecodedRecord record = decode(rowsOf(static_cast<DataFormat>(format)), row.toStdString());
    if (expected.startsWith('!')) {
      QCOMPARE(static_cast<int>(record.kind), static_cast<int>(DecodedRecord::Kind::Bad));
      QVERIFY2(record.problem.find(expected.mid(1).toStdString()) != std::string::npos, record.problem.c_str());
    } else {
      QVERIFY2(record.conversation, record.problem.c_str());
      QCOMPARE(shown(*record.conversation), expected);
    }
  }

  void textsAreRead_data() {
    QTest::addColumn<QByteArray>("row");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("expected");
    using Kind = DecodedRecord::Kind;
    const auto row = [](const char* name, const QByteArray& text, Kind kind, const char* expected) {
      QTest::newRow(name) << text << static_cast<int>(kind) << QString(expected);
    };
    row("text", R"({"text":"a\nb","meta":{"pile_set_name":"Books3"}})", Kind::Document, "a\nb");
    row("blank", "  \r", Kind::Empty, "");
    row("blank text", R"({"text":" \n"})", Kind::Empty, "");
    row("other field", R"({"body":"a"})", Kind::NoField, "it lacks the field 'text'");
    row("a number", R"({"text":1})", Kind::Bad, "the field 'text' is a number");
    row("twice", R"({"text":"a","text":"b"})", Kind::Bad, "appears twice");
    row("NUL", QByteArray("{\"text\":\"a\"}\0{", 14), Kind::Bad, "byte 12 of the row is NUL");
    row("deep", "{\"text\":\"a\",\"x\":" + QByteArray(200, '[') + QByteArray(200, ']') + "}", Kind::Bad,
        "nested deeper than 128");
    row("very deep", "{\"x\":" + QByteArray(1 << 20, '['), Kind::Bad, "nested deeper than 128");
    row("not UTF-8", "{\"text\":\"a\xFF\"}", Kind::Document, "a\uFFFD");
    row("two rows in one", "{}{}", Kind::Bad, "not valid JSON");
  }
  void textsAreRead() {
    QFETCH(QByteArray, row);
    QFETCH(int, kind);
    QFETCH(QString, expected);
    const DecodedRecord record = decode(rowsOf(DataFormat::Jsonl), row.toStdString());
    QCOMPARE(static_cast<int>(record.kind), kind);
    const QString got =
        QString::fromStdString(record.kind == DecodedRecord::Kind::Document ? record.text : record.problem);
    QVERIFY2(got.contains(expected), qPrintable(got));
  }

  void setsAreChosen() {
    const SourceFile books = rowsOf(DataFormat::Jsonl, {"Books3", "ArXiv"});
    const auto kindOf = [&](const char* row) { return static_cast<int>(decode(books, row).kind); };
    const auto document = static_cast<int>(DecodedRecord::Kind::Document),
               other = static_cast<int>(DecodedRecord::Kind::OtherSet);
    QCOMPARE(kindOf(R"({"meta":{"pile_set_name":"ArXiv"},"text":"a"})"), document);
    QCOMPARE(kindOf(R"({"text":"a","meta":{"x":{"pile_set_name":"no"},"pile_set_name":"Books3"}})"), document);
    QCOMPARE(kindOf(R"({"text":"a","meta":{"pile_set_name":"Github"}})"), other);
    QCOMPARE(kindOf(R"({"text":"a"})"), other);
    QCOMPARE(kindOf(R"({"text":"a","pile_set_name":"Books3"})"), other);
    QCOMPARE(kindOf(R"({"text":"a","other":{"pile_set_name":"Books3"}})"), other);
    QCOMPARE(decode(rowsOf(DataFormat::Jsonl), R"({"text":"a","meta":{"pile_set_name":"Github"}})").set, "Github");
  }

  void whatTakesMuchMemoryIsRefused() {
    std::string many = R"({"messages":[{"role":"user","content":"a"}],"x":[)";
    for (int i = 0; i < (1 << 20); ++i) many += "0,";
    DecodedRecord record = decode(rowsOf(DataFormat::Messages), many + "0]}");
    QVERIFY2(record.problem.find("values, at most") != std::string::npos, record.problem.c_str());
    record = decode(rowsOf(DataFormat::Messages),
                    "{\"messages\":[{\"role\":\"user\",\"content\":\"" + std::string(17 << 20, 'a') + "\"}]}");
    QVERIFY2(record.problem.find("longer than 16.00 MiB") != std::string::npos, record.problem.c_str());
    std::string turns = R"({"messages":[)";
    for (std::size_t i = 0; i <= mostMessages; ++i) turns += R"({"role":"user","content":"a"},)";
    turns.back() = ']';
    record = decode(rowsOf(DataFormat::Messages), turns + "}");
    QVERIFY2(record.problem.find("at most 1024") != std::string::npos, record.problem.c_str());
  }

  void badRowsAreCountedUpToTheLimit() {
    const std::vector<SourceFile> sources{rowsOf(DataFormat::Jsonl)};
    Log log;
    QStringList said;
    log.addListener([&](LogLevel, std::string_view line) { said << QString::fromUtf8(line.data(), line.size()); });
    RowJudge judge(sources, 2, log);
    QVERIFY(judge.judge(0, 1, decode(sources[0], R"({"text":"a"})")));
    QVERIFY(judge.judge(0, 2, decode(sources[0], "{")));
    QVERIFY(judge.judge(0, 3, decode(sources[0], R"({"body":"a"})")));
    QCOMPARE(judge.bad(), 2);
    QCOMPARE(said.size(), 2);
    QVERIFY2(said[0].startsWith("/d/rows.jsonl:2: row skipped: not valid JSON"), qPrintable(said[0]));
    QCOMPARE(said[1], "/d/rows.jsonl:3: row skipped: it lacks the field 'text'");
    const Status third = judge.judge(0, 9, decode(sources[0], "[]"));
    QVERIFY(!third);
    QVERIFY2(third.error().message.find("/d/rows.jsonl:9: the row is a list, expected an object; that is unusable row "
                                        "3, and the limit is 2") != std::string::npos,
             third.error().message.c_str());
  }

  void aMissingFieldIsToldWithWhatIsThere_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<QString>("row");
    QTest::addColumn<QString>("likely");
    const auto row = [](const char* name, DataFormat format, const char* text, const char* likely) {
      QTest::newRow(name) << static_cast<int>(format) << QString(text) << QString(likely);
    };
    row("another field", DataFormat::Jsonl, R"({"id":"7","body":"a long text"})",
        "none of the first 100 rows has the field 'text'; the fields found are: body, id; set text_field to 'body', "
        "which "
        "holds the most text");
    row("messages", DataFormat::Jsonl, R"({"messages":[],"prompt":"a"})", "set format to messages");
    row("sharegpt", DataFormat::Alpaca, R"({"conversations":[]})",
        "has the fields 'instruction' and 'output'; the fields found are: conversations; set format to sharegpt");
    row("alpaca", DataFormat::Messages, R"({"instruction":"a","output":"b"})", "set format to alpaca");
    row("a question and its answer", DataFormat::Jsonl, R"({"prompt":"a","completion":"a much longer text"})",
        "'prompt' and 'completion' look like what is asked and answered: make lines of {\"messages\": [{\"role\": "
        "\"user\"");
    row("preferences", DataFormat::Messages, R"({"chosen":[],"rejected":[]})", "of 'chosen' alone");
    row("text, asked for as conversations", DataFormat::ShareGpt, R"({"text":"a"})",
        "set format to jsonl and text_field to 'text'");
    row("nothing", DataFormat::ShareGpt, R"({})", "the fields found are: (none)");
  }
  void aMissingFieldIsToldWithWhatIsThere() {
    QFETCH(int, format);
    QFETCH(QString, row);
    QFETCH(QString, likely);
    const std::vector<SourceFile> sources{rowsOf(static_cast<DataFormat>(format))};
    Log log;
    RowJudge judge(sources, 1'000'000, log);
    Status outcome;
    int rows = 0;
    while (outcome && rows < 1000) outcome = judge.judge(0, ++rows, decode(sources[0], row.toStdString()));
    QCOMPARE(rows, 100);
    QVERIFY2(outcome.error().message.find(likely.toStdString()) != std::string::npos, outcome.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(TestSourceRows)
#include "test_source_rows.moc"

// How files are found and cut into records: folders, patterns, lists of JSON, encodings, and files that are no sources.
#include "data/format_detection.h"
#include "data/source_text.h"
#include "support/forwarding_file_system.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::test;

namespace {

SourceFile sourceOf(const char* path, RecordLayout layout) {
  return {path, layout, {layout == RecordLayout::Text ? DataFormat::Text : DataFormat::Jsonl, "text", "", {}}};
}

QString messageOf(const Result<std::vector<SourceFile>>& found) {
  return found ? "found" : QString::fromStdString(found.error().message);
}

} // namespace

class TestSourceRecords : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void listsOfJson_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QStringList>("records");
    const auto row = [](const char* name, const char* text, const QStringList& records) {
      QTest::newRow(name) << QString(text) << records;
    };
    row("one line", R"([{"a":1},{"b":[2,{}]}])", {R"(1:{"a":1})", R"(1:{"b":[2,{}]})"});
    row("pretty", "[\n  {\n    \"a\": 1\n  },\n  {\"b\": 2}\n]\n", {"2:{\n    \"a\": 1\n  }", "5:{\"b\": 2}"});
    row("brackets in strings", "[{\"a\":\"],[{\\\"}\"},{\"b\":\"\\\\\"}]",
        {"1:{\"a\":\"],[{\\\"}\"}", "1:{\"b\":\"\\\\\"}"});
    row("white space in front, and a mark of byte order", "\xEF\xBB\xBF \n[{}]", {"2:{}"});
    row("empty", "[ ]", {});
    row("an empty file", "", {});
    row("elements that are no objects", R"([1,"x",null])", {"1:1", "1:\"x\"", "1:null"});
    row("not a list: rows in lines", "{\"a\":1}\n{\"b\":2}\n", {"1:{\"a\":1}", "2:{\"b\":2}"});
    row("cut off between elements", "[{},\n", {"1:{}", "2!the file ends before its list does"});
    row("cut off inside one", "[{},\n{\"a\":", {"1:{}", "2!the file ends before its list does"});
    row("something behind it", "[{}]\n\n{}", {"1:{}", "1!something stands behind the end of the list"});
  }
  void listsOfJson() {
    QFETCH(QString, text);
    QFETCH(QStringList, records);
    MemoryFileSystem files;
    writeFile(files, "/d/a.json", text.toStdString());
    QCOMPARE(recordsOf(files, sourceOf("/d/a.json", RecordLayout::List)), records);
  }

  void listsAreReadInPieces() {
    MemoryFileSystem files;
    std::string text = "[";
    for (int i = 0; i < 200'000; ++i) text += "{\"text\":\"number " + std::to_string(i) + "\"},\n";
    text += "{\"text\":\"" + std::string(3 << 20, 'y') + "\"}]";
    writeFile(files, "/d/a.json", text);
    const QStringList records = recordsOf(files, sourceOf("/d/a.json", RecordLayout::List), {.row = 2 * MiB});
    QCOMPARE(records.size(), 200'001);
    QCOMPARE(records[150'000], QString("150001:{\"text\":\"number 150000\"}"));
    QCOMPARE(records.back(), QString("200001!the row is longer than 2.00 MiB"));
  }

  void linesAsTheyCome_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QStringList>("records");
    QTest::newRow("line ends of Windows, no last one")
        << QByteArray("{}\r\n\r\n{ }") << QStringList{"1:{}", "2:", "3:{ }"};
    QTest::newRow("mark of byte order") << QByteArray("\xEF\xBB\xBF{}\n") << QStringList{"1:{}"};
    QTest::newRow("NUL in a row") << QByteArray("{}\n{\"a\0\"}\n{}", 12)
                                  << QStringList{"1:{}", QString::fromUtf8("2:{\"a\0\"}", 8), "3:{}"};
  }
  void linesAsTheyCome() {
    QFETCH(QByteArray, text);
    QFETCH(QStringList, records);
    MemoryFileSystem files;
    writeFile(files, "/d/a.jsonl", text.toStdString());
    QCOMPARE(recordsOf(files, sourceOf("/d/a.jsonl", RecordLayout::Lines)), records);
  }

  void foreignContentsAreRefused_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QStringList>("parts");
    QTest::newRow("UTF-16 LE") << QByteArray("\xFF\xFEh\0i\0", 6)
                               << QStringList{"UTF-16", "iconv -f UTF-16 -t UTF-8 '/d/a.txt' > '/d/utf8-a.txt'"};
    QTest::newRow("UTF-16 BE") << QByteArray("\xFE\xFF\0h", 4) << QStringList{"UTF-16"};
    QTest::newRow("UTF-32") << QByteArray("\xFF\xFE\0\0h\0\0\0", 8) << QStringList{"UTF-32"};
    QTest::newRow("UTF-16 without a mark") << QByteArray("h\0i\0", 4) << QStringList{"byte 1 is NUL"};
    QTest::newRow("Parquet") << QByteArray("PAR1\x15\x04") << QStringList{"Parquet", "read_parquet"};
    QTest::newRow("gzip") << QByteArray("\x1F\x8B\x08\x00", 4) << QStringList{"gzip -dc '/d/a.txt' | zstd"};
    QTest::newRow("zstd") << QByteArray("\x28\xB5\x2F\xFD") << QStringList{"mv '/d/a.txt' '/d/a.txt.zst'"};
    QTest::newRow("bzip2") << QByteArray("BZh91AY&SY") << QStringList{"bzip2 -dc"};
    QTest::newRow("zip") << QByteArray("PK\x03\x04") << QStringList{"unzip '/d/a.txt'"};
    QTest::newRow("PDF") << QByteArray("%PDF-1.7") << QStringList{"pdftotext"};
  }
  void foreignContentsAreRefused() {
    QFETCH(QByteArray, bytes);
    QFETCH(QStringList, parts);
    MemoryFileSystem files;
    writeFile(files, "/d/a.txt", bytes.toStdString());
    const QStringList records = recordsOf(files, sourceOf("/d/a.txt", RecordLayout::Text));
    QCOMPARE(records.size(), 1);
    QVERIFY2(records[0].startsWith("error: /d/a.txt: "), qPrintable(records[0]));
    for (const QString& part : parts) QVERIFY2(records[0].contains(part), qPrintable(records[0]));
  }

  void foreignNamesAreRefused_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("command");
    QTest::newRow("parquet")
        << "it's.parquet"
        << "python3 -c \"import sys; import pandas; pandas.read_parquet(sys.argv[1]).to_json(sys.argv[2], "
           "orient='records', lines=True, force_ascii=False)\" '/d/it'\\''s.parquet' '/d/it'\\''s.jsonl'";
    QTest::newRow("arrow") << "a.arrow"
                           << "datasets.Dataset.from_file(sys.argv[1]).to_json(sys.argv[2])";
    QTest::newRow("csv") << "a.CSV"
                         << "pandas.read_csv(sys.argv[1])";
    QTest::newRow("tsv") << "a.tsv"
                         << "sep='\\t'";
    QTest::newRow("gzip") << "a.jsonl.gz"
                          << "gzip -dc '/d/a.jsonl.gz' | zstd -o '/d/a.jsonl.zst'";
    QTest::newRow("xz") << "a.txt.xz"
                        << "xz -dc '/d/a.txt.xz' | zstd -o '/d/a.txt.zst'";
    QTest::newRow("unknown") << "a.bin"
                             << "set format";
    QTest::newRow("unknown inside zstd") << "a.tar.zst"
                                         << "set format";
  }
  void foreignNamesAreRefused() {
    QFETCH(QString, name);
    QFETCH(QString, command);
    MemoryFileSystem files;
    Log log;
    const Path path = Path("/d") / name.toStdString();
    writeFile(files, path, "x");
    const QString message = messageOf(findSourceFiles(files, {{path.string()}}, log));
    QVERIFY2(message.startsWith(QString::fromStdString(path.string())) && message.contains(command),
             qPrintable(message));
    // In a folder it is passed over, and said so.
    QStringList said;
    log.addListener([&](LogLevel, std::string_view line) { said << QString::fromUtf8(line.data(), line.size()); });
    writeFile(files, "/d/good.txt", "x");
    const auto found = findSourceFiles(files, {{"/d"}}, log);
    QVERIFY(found && found->size() == 1 && (*found)[0].path == "/d/good.txt");
    QVERIFY2(said.size() == 1 && said[0].contains(command), qPrintable(said.join('\n')));
  }

  void foldersAndPatterns() {
    MemoryFileSystem files;
    for (const char* name :
         {"/d/a.txt", "/d/b.jsonl", "/d/c.json", "/d/e.jsonl.zst", "/d/f/g.ndjson", "/d/f/h.txt.zst"})
      writeFile(files, name, "");
    Log log;
    const auto names = [&](const SourcePattern& pattern) {
      QStringList all;
      const auto found = findSourceFiles(files, {pattern}, log);
      if (!found) return QStringList{QString::fromStdString(found.error().message)};
      for (const SourceFile& file : *found)
        all << QString("%1 %2").arg(file.path.c_str() + 3).arg(static_cast<int>(file.layout));
      return all;
    };
    QCOMPARE(names({"/d"}),
             QStringList({"a.txt 0", "b.jsonl 1", "c.json 2", "e.jsonl.zst 1", "f/g.ndjson 1", "f/h.txt.zst 0"}));
    QCOMPARE(names({"/d/**/*.zst"}), QStringList({"e.jsonl.zst 1", "f/h.txt.zst 0"}));
    QCOMPARE(names({"/d", {DataFormat::Messages, "text", "", {}}}),
             QStringList({"b.jsonl 1", "c.json 2", "e.jsonl.zst 1", "f/g.ndjson 1"}));
  }

  /// Several ** come to the same folder in ever more ways, and to the same file.
  void manyStars() {
    class Counting final : public ForwardingFileSystem {
     public:
      using ForwardingFileSystem::ForwardingFileSystem;
      Result<std::vector<std::string>> list(const Path& path) override {
        ++lists;
        return ForwardingFileSystem::list(path);
      }
      int lists = 0;
    };
    MemoryFileSystem memory;
    Path deep = "/d";
    for (int i = 0; i < 14; ++i) writeFile(memory, (deep /= "f") / "a.txt", "");
    Counting files(memory);
    Log log;
    std::string pattern = "/d/";
    for (int i = 0; i < 30; ++i) pattern += i % 3 == 2 ? "f/**/" : "**/";
    const auto found = findSourceFiles(files, {{pattern + "*.txt"}}, log);
    QVERIFY2(found.has_value(), found ? "" : found.error().message.c_str());
    QCOMPARE(found->size(), std::size_t{5}); // below ten folders at least
    QVERIFY2(files.lists < 15 * 42, qPrintable(QString::number(files.lists)));
  }

  void formatsAreDetected_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("format");
    QTest::addColumn<QString>("why");
    const auto row = [](const char* name, const QString& text, DataFormat format, const char* why) {
      QTest::newRow(name) << text << static_cast<int>(format) << why;
    };
    row("text", R"({"text":"a","meta":{}})", DataFormat::Jsonl, "a text 'text'");
    row("messages", R"({"messages":[]})", DataFormat::Messages, "a list 'messages'");
    row("sharegpt", R"({"id":1,"conversations":[]})", DataFormat::ShareGpt, "a list 'conversations'");
    row("alpaca", R"({"instruction":"a","output":"b"})", DataFormat::Alpaca, "'instruction' and 'output'");
    row("alpaca, also written out", R"({"instruction":"a","output":"b","text":"a b"})", DataFormat::Alpaca, "output");
    row("messages and a text", R"({"text":"a","messages":[]})", DataFormat::Messages, "messages");
    row("behind blank and bad rows", "\n\n{\n{\"x\":1}\n{\"messages\":[]}", DataFormat::Messages, "line 5");
    row("none", R"({"body":"a"})", DataFormat::Jsonl, "no row tells");
    row("text that is no text", R"({"text":1,"messages":[]})", DataFormat::Messages, "messages");
  }
  void formatsAreDetected() {
    QFETCH(QString, text);
    QFETCH(int, format);
    QFETCH(QString, why);
    MemoryFileSystem files;
    writeFile(files, "/d/a.jsonl", text.toStdString());
    const auto found = detectFormat(files, {"/d/a.jsonl", RecordLayout::Lines, {}});
    QVERIFY(found);
    QCOMPARE(static_cast<int>(found->format), format);
    QVERIFY2(found->why.find(why.toStdString()) != std::string::npos, found->why.c_str());
    // What was asked for goes first.
    writeFile(files, "/d/b.jsonl", R"({"messages":[],"body":"a"})");
    QCOMPARE(detectFormat(files, {"/d/b.jsonl", RecordLayout::Lines, {DataFormat::Auto, "body", "", {}}})->format,
             DataFormat::Jsonl);
  }
};

QTEST_GUILESS_MAIN(TestSourceRecords)
#include "test_source_records.moc"

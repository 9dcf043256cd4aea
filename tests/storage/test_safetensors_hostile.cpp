// safetensors files and indexes that are wrong in every way that we could think of: each gives one error that names the
// file and what is wrong, and none is read.
#include "files.h"
#include "hostile_headers.h"
#include "storage/safetensors.h"

#include <QtTest>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::test;

namespace {

/// Two tensors and metadata; 32 bytes of contents follow.
const std::string validHeader = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],
"data_offsets":[0,24]},"b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}})";

} // namespace

class TestSafetensorsHostile : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void theValidFileIsRead() {
    const auto reader = open(safetensorsBytes(validHeader, 32));
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    QCOMPARE(reader->tensors().size(), std::size_t{2});
  }

  void everyTruncation() {
    const std::string whole = safetensorsBytes(validHeader, 32);
    for (std::size_t size = 0; size < whole.size(); ++size) refuse(whole.substr(0, size), "file.safetensors");
    refuse(whole + "x", "1 bytes follow");
  }

  /// Each byte of the header replaced by each of some nasty ones: an error or a consistent reading, never anything
  /// else.
  void everyCorruption() {
    const std::string whole = safetensorsBytes(validHeader, 32);
    int accepted = 0;
    for (std::size_t at = 0; at < whole.size() - 32; ++at) {
      for (const char byte : {'\0', '"', '{', '}', '[', '9', '-', ',', ' ', '\\', '\x7f', '\xff'}) {
        std::string changed = whole;
        changed[at] = byte;
        const auto reader = open(changed);
        if (!reader) continue;
        ++accepted;
        Bytes total = 0;
        for (const StoredTensor& tensor : reader->tensors()) {
          std::vector<std::byte> contents(static_cast<std::size_t>(tensor.bytes));
          QVERIFY(reader->readBytes(tensor, 0, contents));
          total += tensor.bytes;
        }
        QCOMPARE(total, Bytes{32});
      }
    }
    QVERIFY(accepted > 0); // characters of a name, for example
  }

  void lengths_data() {
    QTest::addColumn<quint64>("length");
    QTest::addColumn<QString>("part");
    QTest::newRow("zero") << quint64{0} << "brace";
    QTest::newRow("one") << quint64{1} << "not valid JSON";
    QTest::newRow("one short") << quint64{validHeader.size() - 1} << "not valid JSON";
    QTest::newRow("one long") << quint64{validHeader.size() + 1} << "not valid JSON";
    QTest::newRow("the rest of the file") << quint64{validHeader.size() + 32} << "not valid JSON";
    QTest::newRow("beyond the file") << quint64{validHeader.size() + 33} << "truncated";
    QTest::newRow("the limit") << quint64{100'000'000} << "truncated";
    QTest::newRow("above the limit") << quint64{100'000'001} << "at most 100000000";
    QTest::newRow("sign bit") << (quint64{1} << 63) << "at most 100000000";
    QTest::newRow("all ones") << ~quint64{0} << "at most 100000000";
  }
  void lengths() {
    QFETCH(quint64, length);
    QFETCH(QString, part);
    std::string bytes = safetensorsBytes(validHeader, 32);
    std::memcpy(bytes.data(), &length, 8);
    refuse(bytes, part);
  }

  void headers_data() {
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<int>("contents");
    QTest::addColumn<QString>("part");
    for (const HostileHeader& header : hostileHeaders())
      QTest::newRow(header.name) << header.json << header.contents << header.part;
  }
  void headers() {
    QFETCH(QByteArray, header);
    QFETCH(int, contents);
    QFETCH(QString, part);
    refuse(safetensorsBytes(header.toStdString(), static_cast<std::size_t>(contents)), part);
  }

  void unusualButValid_data() {
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<int>("contents");
    QTest::newRow("nothing") << QByteArray("{}") << 0;
    QTest::newRow("padded") << QByteArray("{}      \n") << 0;
    QTest::newRow("metadata alone") << QByteArray(R"({"__metadata__":{"a":"b"}})") << 0;
    QTest::newRow("a scalar") << QByteArray(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})") << 4;
    QTest::newRow("no elements") << QByteArray(R"({"e":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]}})") << 0;
    QTest::newRow("keys in another order")
        << QByteArray(R"({"s":{"data_offsets":[0,8],"shape":[1],"dtype":"I64"}})") << 8;
    QTest::newRow("tensors in another order") << QByteArray(R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]},)"
                                                            R"("a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})")
                                              << 4;
    QTest::newRow("empty beside full") << QByteArray(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                                     R"("e":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                                     R"("f":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})")
                                       << 2;
  }
  void unusualButValid() {
    QFETCH(QByteArray, header);
    QFETCH(int, contents);
    const auto reader = open(safetensorsBytes(header.toStdString(), static_cast<std::size_t>(contents)));
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
  }

  void indexes_data() {
    QTest::addColumn<QByteArray>("index");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const QByteArray& index, const char* part) {
      QTest::newRow(name) << index << part;
    };
    row("not JSON", "{", "not valid JSON");
    row("no map", "{}", "weight_map is missing");
    row("empty map", R"({"weight_map":{}})", "weight_map is missing or empty");
    row("map is a list", R"({"weight_map":[]})", "expected an object");
    row("file is a number", R"({"weight_map":{"a":1}})", "weight_map.a is 1");
    for (const char* name :
         {"../x.safetensors", "/etc/passwd", "sub/x.safetensors", "..", ".", "", "a\\\\b", "x\\u0000y", "..\\/x"})
      QTest::addRow("file name '%s'", name) << QByteArray("{\"weight_map\":{\"a\":\"") + name + "\"}}"
                                            << "weight_map.a is";
    row("missing files", R"({"weight_map":{"a":"one.safetensors","b":"p.safetensors","c":"q.safetensors"}})",
        "not there: p.safetensors, q.safetensors");
    row("tensor not in its file", R"({"weight_map":{"a":"one.safetensors","z":"one.safetensors"}})",
        "should be in one.safetensors are not there: z");
    row("tensor in the other file", R"({"weight_map":{"a":"two.safetensors","c":"one.safetensors"}})",
        "are not there: c");
    row("a tensor in two files", R"({"weight_map":{"a":"one.safetensors","c":"again.safetensors"}})", "is also in");
    row("a broken file", R"({"weight_map":{"a":"broken.safetensors"}})", "broken.safetensors");
    row("a folder", R"({"weight_map":{"a":"folder"}})", "is a folder");
    row("a key twice", R"({"weight_map":{"a":"one.safetensors","a":"two.safetensors"}})", "twice");
  }
  void indexes() {
    QFETCH(QByteArray, index);
    QFETCH(QString, part);
    Folder folder;
    const auto one = [](const char* name) {
      return safetensorsBytes(fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}})", name), 4);
    };
    writeRaw(folder / "one.safetensors", one("a"));
    writeRaw(folder / "two.safetensors", one("c"));
    writeRaw(folder / "again.safetensors", one("a"));
    writeRaw(folder / "broken.safetensors", one("a").substr(0, 30));
    LocalFileSystem files;
    valueOrThrow(files.createDirectories(folder / "folder"));
    writeRaw(folder / "model.safetensors.index.json", index.toStdString());
    const auto reader = SafetensorsReader::open(files, folder.path());
    QVERIFY(!reader);
    QCOMPARE(reader.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(reader.error().message);
    QVERIFY2(message.contains(part) && message.contains(QString::fromStdString(folder.path().string())),
             qPrintable(message));
  }

  void foldersWithoutModel() {
    Folder folder;
    LocalFileSystem files;
    const auto nothing = SafetensorsReader::open(files, folder.path());
    QVERIFY(!nothing && nothing.error().message.find("holds neither") != std::string::npos);
    writeRaw(folder / "pytorch_model.bin", "x");
    const auto pickled = SafetensorsReader::open(files, folder.path());
    QVERIFY(!pickled && pickled.error().message.find("save it as safetensors") != std::string::npos);
    const auto missing = SafetensorsReader::open(files, folder / "no.safetensors");
    QVERIFY(!missing);
    QCOMPARE(missing.error().kind, ErrorKind::BadInput);
  }

  void pointersOfGitLfs() {
    refuse("version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 4\n", "git lfs pull");
  }

  void aFileThatShrinksAfterOpening() {
    Folder folder;
    const Path path = folder / "file.safetensors";
    writeRaw(path, safetensorsBytes(validHeader, 32));
    LocalFileSystem files;
    const auto reader = valueOrThrow(SafetensorsReader::open(files, path));
    valueOrThrow(valueOrThrow(files.open(path, OpenMode::ReadWrite))->truncate(100));
    std::vector<float> values(6);
    const Status read = reader.readFloats(*reader.find("a"), 0, values);
    QVERIFY(!read && read.error().message.find("file.safetensors") != std::string::npos);
  }

 private:
  Result<SafetensorsReader> open(const std::string& bytes) {
    writeRaw(m_folder / "file.safetensors", bytes);
    LocalFileSystem files;
    return SafetensorsReader::open(files, m_folder / "file.safetensors");
  }

  void refuse(const std::string& bytes, const QString& part) {
    const auto reader = open(bytes);
    QVERIFY2(!reader, qPrintable(QString("%1 bytes were accepted").arg(bytes.size())));
    QCOMPARE(reader.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(reader.error().message);
    QVERIFY2(message.contains("file.safetensors: ") && message.contains(part), qPrintable(message + " lacks " + part));
  }

  Folder m_folder;
};

QTEST_GUILESS_MAIN(TestSafetensorsHostile)
#include "test_safetensors_hostile.moc"

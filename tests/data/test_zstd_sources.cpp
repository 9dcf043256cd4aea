// Sources that are compressed with zstd: whole ones read like what they hold, damaged ones are named, and no file makes
// the reader take much memory or time.
#include "base/random.h"
#include "data/source_text.h"
#include "data/zstd_decoder.h"

#include <QtTest>
#include <sys/resource.h>

using namespace millrace;
using namespace millrace::test;

namespace {

std::string manyLines(std::size_t bytes) {
  Random random(1, "lines");
  std::string text;
  while (text.size() < bytes) {
    text += "{\"text\":\"";
    for (std::uint64_t i = 0; i < 20 + random.below(60); ++i) text += static_cast<char>('a' + random.below(26));
    text += "\"}\n";
  }
  return text;
}

SourceFile lines(const char* path) {
  return {path, RecordLayout::Lines, {DataFormat::Jsonl, "text", "", {}}};
}

Status decodeAll(std::string_view bytes, std::size_t stepIn, std::size_t stepOut, std::string& text) {
  ZstdDecoder decoder;
  std::vector<std::byte> room(stepOut);
  for (auto rest = std::as_bytes(std::span(bytes)); !rest.empty();) {
    auto input = rest.first(std::min(stepIn, rest.size()));
    const std::size_t given = input.size();
    for (bool more = true; more;) {
      std::span<std::byte> output(room);
      MILLRACE_CHECK(decoder.decode(input, output));
      text.append(reinterpret_cast<const char*>(room.data()), room.size() - output.size());
      more = output.empty(); // full: there may be more
    }
    rest = rest.subspan(given - input.size());
  }
  return decoder.finish();
}

} // namespace

class TestZstdSources : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void framesBehindOneAnother_data() {
    QTest::addColumn<int>("stepIn");
    QTest::addColumn<int>("stepOut");
    QTest::newRow("all at once") << (1 << 20) << (1 << 20);
    QTest::newRow("byte by byte in") << 1 << 4096;
    QTest::newRow("byte by byte out") << 4096 << 1;
    QTest::newRow("odd pieces") << 7 << 13;
  }
  void framesBehindOneAnother() {
    QFETCH(int, stepIn);
    QFETCH(int, stepOut);
    const std::string bytes = skippableFrame("an index") + zstdFrame("one\n") + zstdFrame("") + skippableFrame("") +
                              zstdFrame(std::string(5000, 'x')) + zstdFrame("three", 0, false);
    std::string text;
    const Status outcome = decodeAll(bytes, static_cast<std::size_t>(stepIn), static_cast<std::size_t>(stepOut), text);
    QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
    QVERIFY(text == "one\n" + std::string(5000, 'x') + "three");
  }

  void readsLikeWhatItHolds() {
    MemoryFileSystem files;
    const std::string text = manyLines(5 << 20);
    writeFile(files, "/d/plain.jsonl", text);
    // Frames that end inside a line, and in whole blocks.
    writeFile(files, "/d/packed.jsonl.zst",
              zstdFrame(text.substr(0, 1 << 20)) + zstdFrame(text.substr(1 << 20, 12345)) +
                  zstdFrame(text.substr((1 << 20) + 12345)));
    const QStringList plain = recordsOf(files, lines("/d/plain.jsonl"));
    QVERIFY(plain.size() > 10'000);
    QVERIFY(recordsOf(files, lines("/d/packed.jsonl.zst")) == plain);
  }

  void identityIsOfTheCompressedBytes() {
    MemoryFileSystem files;
    writeFile(files, "/d/a.jsonl.zst", zstdFrame(manyLines(2 << 20)));
    RecordReader reader(files, {lines("/d/a.jsonl.zst")});
    RawRecord record;
    while (*reader.next(record)) {
    }
    QCOMPARE(reader.hashes().size(), 1);
    QCOMPARE(reader.hashes()[0], *hashFile(files, "/d/a.jsonl.zst", [](Bytes) { return Status(); }));
    QCOMPARE(reader.bytesRead(), *(*files.open("/d/a.jsonl.zst", OpenMode::Read))->size());
  }

  void damagedFilesAreNamed_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QStringList>("parts"); ///< of the message
    const std::string text = manyLines(300'000);
    const std::string whole = zstdFrame(text);
    const auto row = [](const char* name, const std::string& bytes, const QStringList& parts) {
      QTest::newRow(name) << QByteArray::fromStdString(bytes) << parts;
    };
    row("cut off", zstdFrame("{\"text\":\"a\"}\n") + whole.substr(0, whole.size() / 2), {"cut off", "inside the zstd"});
    row("cut off in the header", whole.substr(0, 3), {"cut off", "ends at byte 3"});
    row("cut off before the checksum", whole.substr(0, whole.size() - 2), {"cut off"});
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
    row("bytes changed", flipped, {"damaged at about byte"});
    std::string checksum = whole;
    checksum.back() = static_cast<char>(checksum.back() ^ 1);
    row("wrong checksum", checksum, {"damaged at about byte"});
    row("not zstd", "{\"text\":\"plain\"}\n", {"no zstd frame begins at byte 0", "whatever its name says"});
    row("something behind it", zstdFrame("{\"text\":\"a\"}\n") + "hello world",
        {QString("no zstd frame begins at byte %1").arg(zstdFrame("{\"text\":\"a\"}\n").size())});
    row("a window too large", zstdFrame(text, 28), {"needs more than 128.00 MiB", "zstd -dc --long=31"});
  }
  void damagedFilesAreNamed() {
    QFETCH(QByteArray, bytes);
    QFETCH(QStringList, parts);
    MemoryFileSystem files;
    writeFile(files, "/d/a.jsonl.zst", bytes.toStdString());
    const QStringList records = recordsOf(files, lines("/d/a.jsonl.zst"));
    QVERIFY(!records.isEmpty() && records.back().startsWith("error: /d/a.jsonl.zst: "));
    for (const QString& part : parts) QVERIFY2(records.back().contains(part), qPrintable(records.back()));
  }

  void theLargestWindowIsRead() {
    std::string text;
    QVERIFY(decodeAll(zstdFrame("as The Pile's", 27), 1 << 20, 1 << 20, text));
    QCOMPARE(text, std::string("as The Pile's"));
  }

  void aLongLineIsPassedOver() {
    MemoryFileSystem files;
    writeFile(files, "/d/a.jsonl.zst",
              zstdFrame("{\"text\":\"a\"}\n") + zstdFrame(std::string(70 << 20, ' ') + "\n{\"text\":\"b\"}\n"));
    const QStringList records = recordsOf(files, lines("/d/a.jsonl.zst"));
    QCOMPARE(records, QStringList({"1:{\"text\":\"a\"}", "2!the row is longer than 64.00 MiB", "3:{\"text\":\"b\"}"}));
  }

  /// 16 GiB of zeros in half a megabyte: neither memory nor time are spent on it.
  void bombsAreRefused() {
    std::string frame = zstdFrame(std::string(64 << 20, '\0'));
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += frame;
    QVERIFY(bytes.size() < (2 << 20));
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    ZstdDecoder decoder;
    std::vector<std::byte> room(1 << 20);
    auto input = std::as_bytes(std::span(bytes));
    Bytes written = 0;
    Status outcome;
    while (outcome && !input.empty()) {
      std::span<std::byte> output(room);
      outcome = decoder.decode(input, output);
      written += static_cast<Bytes>(room.size() - output.size());
    }
    QVERIFY(!outcome);
    QVERIFY2(outcome.error().message.find("which no text does") != std::string::npos, outcome.error().message.c_str());
    QVERIFY(written <= ZstdDecoder::freeExpansion + MiB);
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    QVERIFY(after.ru_maxrss - before.ru_maxrss < 64 * 1024); // KiB
  }
};

QTEST_GUILESS_MAIN(TestZstdSources)
#include "test_zstd_sources.moc"

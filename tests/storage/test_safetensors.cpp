// safetensors: what is written is read back, single and sharded, in pieces and from several threads; nothing partial
// appears.
#include "base/bf16.h"
#include "base/hash.h"
#include "files.h"
#include "storage/safetensors.h"

#include <QtTest>
#include <atomic>
#include <thread>

using namespace millrace;
using namespace millrace::test;

namespace {

using Entries = std::vector<SafetensorsEntry>;

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 0.37f - 11.0f;
  return values;
}

} // namespace

class TestSafetensors : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void roundTrip() {
    Folder folder;
    LocalFileSystem files;
    const std::vector<float> a = ramp(600'000); // several pieces of the reader's buffer
    const std::vector<double> d{1.5, -0.25, 3e40};
    std::vector<std::uint16_t> halves{0x3C00, 0xC000, 0x0001};
    std::vector<BFloat16> b;
    for (const float value : a) b.push_back(toBFloat16(value));
    const Entries entries{{"a", StoredType::F32, {600, 1000}}, {"b", StoredType::BF16, {600'000}},
                          {"scalar", StoredType::I64, {}},     {"none", StoredType::U8, {0, 3}},
                          {"h", StoredType::F16, {3}},         {"d \"quoted\" \u00e9", StoredType::F64, {3, 1}}};
    auto writer = valueOrThrow(
        SafetensorsWriter::create(files, folder / "x.safetensors", entries, {{"format", "pt"}, {"note", "line\n"}}));
    valueOrThrow(writer.append(std::as_bytes(std::span(a)).first(1001)));
    valueOrThrow(writer.append(std::as_bytes(std::span(a)).subspan(1001)));
    valueOrThrow(writer.append(std::as_bytes(std::span(b))));
    const std::int64_t scalar = -5;
    valueOrThrow(writer.append(std::as_bytes(std::span(&scalar, 1))));
    valueOrThrow(writer.append(std::as_bytes(std::span(halves))));
    QVERIFY(!files.exists(folder / "x.safetensors"));
    valueOrThrow(writer.append(std::as_bytes(std::span(d))));
    const std::string checksum = writer.checksum();
    valueOrThrow(writer.commit());
    QCOMPARE(valueOrThrow(files.list(folder.path())).size(), std::size_t{1});

    const std::string raw = readRaw(folder / "x.safetensors");
    Hasher128 hasher;
    hasher.update(raw);
    QCOMPARE(checksum, hasher.hex());
    QCOMPARE(writer.fileBytes(), static_cast<Bytes>(raw.size()));
    std::uint64_t length = 0;
    std::memcpy(&length, raw.data(), 8);
    QCOMPARE(length % 8, std::uint64_t{0});

    const auto reader = valueOrThrow(SafetensorsReader::open(files, folder / "x.safetensors"));
    QCOMPARE(reader.metadata().at("note"), std::string("line\n"));
    QCOMPARE(reader.tensors().size(), entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const StoredTensor* tensor = reader.find(entries[i].name);
      QVERIFY(tensor && tensor->type == entries[i].type && tensor->shape == entries[i].shape);
    }
    std::vector<float> read(a.size());
    valueOrThrow(reader.readFloats(*reader.find("a"), 0, read));
    QVERIFY(read == a);
    valueOrThrow(reader.readFloats(*reader.find("b"), 0, read));
    for (std::size_t i = 0; i < read.size(); ++i) QCOMPARE(read[i], toFloat(b[i]));
    std::vector<float> few(2);
    valueOrThrow(reader.readFloats(*reader.find("b"), 299'999, few));
    QCOMPARE(few[1], toFloat(b[300'000]));
    valueOrThrow(reader.readFloats(*reader.find("h"), 1, few));
    QVERIFY(few == std::vector<float>({-2.0f, 0x1p-24f}));
    valueOrThrow(reader.readFloats(*reader.find("d \"quoted\" \u00e9"), 0, few));
    QVERIFY(few == std::vector<float>({1.5f, -0.25f}));
    std::int64_t again = 0;
    valueOrThrow(reader.readBytes(*reader.find("scalar"), 0, std::as_writable_bytes(std::span(&again, 1))));
    QCOMPARE(again, scalar);
    const Status wrongType = reader.readFloats(*reader.find("scalar"), 0, std::span(few).first(1));
    QVERIFY(!wrongType && wrongType.error().message.find("'scalar' holds I64") != std::string::npos);
    QVERIFY(reader.find("nothing") == nullptr);
  }

  void goldenFilesMatchTheirBytes_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("files");
    QTest::newRow("single") << "qwen3" << 1;
    QTest::newRow("sharded") << "qwen2" << 3;
  }
  void goldenFilesMatchTheirBytes() {
    QFETCH(QString, name);
    QFETCH(int, files);
    LocalFileSystem fileSystem;
    const Path folder = Path(MILLRACE_TEST_DATA) / name.toStdString();
    const auto reader = valueOrThrow(SafetensorsReader::open(fileSystem, folder));
    QCOMPARE(reader.metadata().at("format"), std::string("pt"));
    std::size_t most = 0;
    for (const StoredTensor& tensor : reader.tensors()) {
      most = std::max(most, tensor.file);
      const std::string raw = readRaw(reader.path(tensor));
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      valueOrThrow(reader.readFloats(tensor, 0, values));
      QVERIFY(std::memcmp(values.data(), raw.data() + tensor.offset, static_cast<std::size_t>(tensor.bytes)) == 0);
    }
    QCOMPARE(static_cast<int>(most) + 1, files);
    if (files > 1) {
      const auto byIndex = valueOrThrow(SafetensorsReader::open(fileSystem, folder / "model.safetensors.index.json"));
      QCOMPARE(byIndex.tensors().size(), reader.tensors().size());
    }
  }

  void severalThreadsRead() {
    Folder folder;
    LocalFileSystem files;
    const std::vector<float> values = ramp(100'000);
    auto writer = valueOrThrow(
        SafetensorsWriter::create(files, folder / "x.safetensors", {{"v", StoredType::F32, {100'000}}}, {}));
    valueOrThrow(writer.append(std::as_bytes(std::span(values))));
    valueOrThrow(writer.commit());
    const auto reader = valueOrThrow(SafetensorsReader::open(files, folder / "x.safetensors"));
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::vector<float> part(1000);
        for (std::size_t first = t * 1000; first < values.size(); first += 4000) {
          const Status status = reader.readFloats(*reader.find("v"), static_cast<std::int64_t>(first), part);
          if (!status || !std::equal(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(first)))
            ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(wrong.load(), 0);
  }

  void writerRefuses_data() {
    QTest::addColumn<int>("which");
    QTest::newRow("a name twice") << 0;
    QTest::newRow("an empty name") << 1;
    QTest::newRow("the metadata's name") << 2;
    QTest::newRow("too large") << 3;
    QTest::newRow("too large together") << 4;
    QTest::newRow("negative") << 5;
  }
  void writerRefuses() {
    QFETCH(int, which);
    const std::int64_t half = std::int64_t{1} << 62;
    const std::vector<Entries> cases{{{"a", StoredType::U8, {1}}, {"a", StoredType::U8, {1}}},
                                     {{"", StoredType::U8, {1}}},
                                     {{"__metadata__", StoredType::U8, {1}}},
                                     {{"a", StoredType::F32, {half}}},
                                     {{"a", StoredType::U8, {half}}, {"b", StoredType::U8, {half}}},
                                     {{"a", StoredType::U8, {-1}}}};
    Folder folder;
    LocalFileSystem files;
    QVERIFY(!SafetensorsWriter::create(files, folder / "x", cases[static_cast<std::size_t>(which)], {}));
    QVERIFY(valueOrThrow(files.list(folder.path())).empty());
  }

  void nothingPartialAppears() {
    Folder folder;
    LocalFileSystem files;
    writeRaw(folder / "x", "before");
    const std::vector<std::byte> ten(10);
    {
      auto writer = valueOrThrow(SafetensorsWriter::create(files, folder / "x", {{"a", StoredType::U8, {15}}}, {}));
      valueOrThrow(writer.append(ten));
      QVERIFY(!writer.append(ten)); // five too many
      const Status early = writer.commit();
      QVERIFY(!early && early.error().message.find("only") != std::string::npos);
    }
    QVERIFY(valueOrThrow(files.list(folder.path())) == std::vector<std::string>{"x"});
    QCOMPARE(readRaw(folder / "x"), std::string("before"));
    FullDisk full(files, 80);
    {
      auto writer = valueOrThrow(SafetensorsWriter::create(full, folder / "x", {{"a", StoredType::U8, {20}}}, {}));
      Status status = writer.append(ten);
      if (status) status = writer.append(ten);
      QVERIFY(!status);
      QCOMPARE(status.error().kind, ErrorKind::OutOfSpace);
    }
    QVERIFY(valueOrThrow(files.list(folder.path())) == std::vector<std::string>{"x"});
  }
};

QTEST_GUILESS_MAIN(TestSafetensors)
#include "test_safetensors.moc"

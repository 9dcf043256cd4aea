// A dataset on disk, tokenized by its own thread: batches and held back rows are the same while that is at work as from
// a complete cache; it ends when it is destroyed; what is wrong with the sources is told.
#include "base/atomic_file.h"
#include "data/dataset.h"
#include "support/forwarding_file_system.h"

#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <fmt/format.h>

using namespace millrace;

namespace {
/// A disk that is full for every shard, or for every one but the first, until there is room. Any thread.
class FullDisk final : public test::ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;
  std::atomic<bool> full = true;
  std::atomic<bool> forTheFirst = false;
  std::atomic<int> refused = 0;

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    const bool first = path.filename().string().find("00000000") != std::string::npos;
    if (full && mode != OpenMode::Read && (!first || forTheFirst)) {
      ++refused;
      return millrace::failure(ErrorKind::OutOfSpace, path.string() + ": no space left on the disk");
    }
    return ForwardingFileSystem::open(path, mode);
  }
};
} // namespace

class TestDataset : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void init();
  void startsEarlyWithTheSameBatches_data();
  void startsEarlyWithTheSameBatches();
  void heldBackRowsDoNotDependOnProgress();
  void endsInTheMiddle();
  void pausesAndGoesOn();
  void waitsForRoomOnTheDisk();
  void brokenSourceIsTold();
  void fingerprints();
  void nothingToTrainOn();

 private:
  DataSpec spec() const;
  Path at(const std::string& name) const { return Path(m_folder->path().toStdString()) / name; }
  Result<Dataset> open(const DataSpec& spec) { return openDataset(m_files, m_pool, m_log, spec, *m_tokenizer); }

  LocalFileSystem m_files;
  ThreadPool m_pool{2};
  Log m_log;
  std::unique_ptr<QTemporaryDir> m_folder;
  std::unique_ptr<Tokenizer> m_tokenizer;
};

void TestDataset::initTestCase() {
  init();
  BpeTrainerOptions options;
  options.vocabularySize = 300;
  m_tokenizer = std::make_unique<Tokenizer>(
      valueOrThrow(Tokenizer::parse(valueOrThrow(trainTokenizer(m_files, m_pool, m_log, spec(), options)), "trained")));
}

void TestDataset::init() {
  m_folder = std::make_unique<QTemporaryDir>();
  for (const int file : {0, 1}) {
    std::string lines;
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (int word = 0; word <= i * 7 % 60; ++word) text += fmt::format("word{} ", (i * 31 + word * word + file) % 97);
      lines += fmt::format("{{\"text\": \"{}\"}}\n", text);
    }
    QVERIFY(writeTextFile(m_files, at(fmt::format("{}.jsonl", file)), lines).has_value());
  }
}

DataSpec TestDataset::spec() const {
  DataSpec spec;
  spec.sources.resize(2);
  for (const std::size_t i : {0u, 1u}) {
    spec.sources[i].path = at(fmt::format("{}.jsonl", i)).string();
    spec.sources[i].part = i;
  }
  spec.validationFraction = 0.1;
  spec.cacheDirectory = at("cache");
  spec.shards.tokens = 20000;
  return spec;
}

void TestDataset::startsEarlyWithTheSameBatches_data() {
  QTest::addColumn<bool>("weighted");
  QTest::newRow("sources as one") << false;
  QTest::newRow("sources by weight") << true;
}

void TestDataset::startsEarlyWithTheSameBatches() {
  QFETCH(bool, weighted);
  DataSpec whole = spec();
  if (weighted) whole.weights = {3, 1};
  DataSpec fresh = whole;
  fresh.cacheDirectory = at("other");
  const Dataset complete = valueOrThrow(prepareDataset(m_files, m_pool, m_log, whole, *m_tokenizer));
  QVERIFY(complete.complete());
  const auto expected = valueOrThrow(complete.trainingSource(64, 5));
  const Dataset growing = valueOrThrow(open(fresh));
  const auto source = valueOrThrow(growing.trainingSource(64, 5));
  const std::int64_t batches = expected->rowsPerEpoch() / 4 * 3 / 2;
  QVERIFY(batches > 500);
  for (std::int64_t i = 0; i < batches; ++i) {
    const MicroBatch batch = valueOrThrow(source->next(4));
    const MicroBatch other = valueOrThrow(expected->next(4));
    QVERIFY(batch.tokens == other.tokens && batch.targets == other.targets);
  }
  QVERIFY(source->cursor() == expected->cursor());
  QVERIFY(growing.complete());
  QCOMPARE(growing.fingerprint(), complete.fingerprint());
  QCOMPARE(growing.summary().trainingTokens, complete.summary().trainingTokens);
  QCOMPARE(growing.summary().documents, std::int64_t{6000});
  QCOMPARE(m_files.list(at("other"))->size(), std::size_t{weighted ? 2u : 1u});
}

void TestDataset::heldBackRowsDoNotDependOnProgress() {
  const Dataset complete = valueOrThrow(prepareDataset(m_files, m_pool, m_log, spec(), *m_tokenizer));
  const auto expected = valueOrThrow(complete.validationReader(48));
  DataSpec fresh = spec();
  fresh.cacheDirectory = at("other");
  const Dataset growing = valueOrThrow(open(fresh));
  const auto reader = valueOrThrow(growing.validationReader(48));
  QVERIFY(valueOrThrow(reader->hasRows()));
  std::int64_t rows = 0;
  for (;;) {
    const ValidationBatch batch = valueOrThrow(reader->next(7));
    const ValidationBatch other = valueOrThrow(expected->next(7));
    QVERIFY(batch.batch.tokens == other.batch.tokens && batch.textBytes == other.textBytes);
    rows += batch.batch.rows;
    if (batch.batch.rows < 7) break;
  }
  QCOMPARE(rows, expected->rows());
  QVERIFY(rows > 100 && growing.complete());
}

void TestDataset::endsInTheMiddle() {
  for (const int waitFor : {0, 1, 3}) {
    DataSpec fresh = spec();
    fresh.cacheDirectory = at(fmt::format("ended{}", waitFor));
    {
      const Dataset dataset = valueOrThrow(open(fresh));
      const auto source = valueOrThrow(dataset.trainingSource(64, 5));
      for (int i = 0; i < waitFor; ++i) QVERIFY(source->next(300).has_value());
    }
    // What it left is gone on with.
    const Dataset whole = valueOrThrow(prepareDataset(m_files, m_pool, m_log, fresh, *m_tokenizer));
    QCOMPARE(whole.summary().documents, std::int64_t{6000});
    for (const std::string& name :
         valueOrThrow(m_files.list(fresh.cacheDirectory / valueOrThrow(m_files.list(fresh.cacheDirectory)).front())))
      QVERIFY2(name.ends_with(".tokens"), name.c_str());
  }
}

void TestDataset::pausesAndGoesOn() {
  Dataset dataset = valueOrThrow(open(spec()));
  dataset.setPaused(true);
  dataset.setPaused(false);
  QVERIFY(dataset.waitUntilComplete({}).has_value());
  Dataset paused = valueOrThrow(open(spec()));
  paused.setPaused(true); // and is destroyed
}

void TestDataset::waitsForRoomOnTheDisk() {
  FullDisk disk(m_files);
  Log log;
  std::vector<std::string> warnings;
  Mutex mutex;
  log.addListener([&](LogLevel level, std::string_view message) {
    Lock lock(mutex);
    if (level == LogLevel::Warning) warnings.emplace_back(message);
  });
  Dataset dataset = valueOrThrow(openDataset(disk, m_pool, log, spec(), *m_tokenizer));
  QTRY_VERIFY(disk.refused > 0);
  // What is there can be trained on.
  const auto source = valueOrThrow(dataset.trainingSource(64, 5));
  QVERIFY(source->next(4).has_value());
  disk.full = false;
  dataset.setPaused(false);
  QVERIFY(dataset.waitUntilComplete({}).has_value());
  {
    Lock lock(mutex);
    QCOMPARE(warnings.size(), std::size_t{1});
    QVERIFY2(warnings.front().find("make room") != std::string::npos, warnings.front().c_str());
  }
  DataSpec other = spec();
  other.cacheDirectory = at("other");
  const Dataset expected = valueOrThrow(prepareDataset(m_files, m_pool, m_log, other, *m_tokenizer));
  QCOMPARE(dataset.summary().trainingTokens, expected.summary().trainingTokens);
  // Where there is nothing to train on yet, nobody is kept waiting.
  disk.full = true;
  disk.forTheFirst = true;
  DataSpec anew = spec();
  anew.cacheDirectory = at("third");
  const Dataset refused = valueOrThrow(openDataset(disk, m_pool, log, anew, *m_tokenizer));
  const Status outcome = refused.waitUntilComplete({});
  QVERIFY(!outcome && outcome.error().kind == ErrorKind::OutOfSpace);
}

void TestDataset::brokenSourceIsTold() {
  std::string lines = valueOrThrow(readTextFile(m_files, at("1.jsonl")));
  lines += "{broken\n";
  QVERIFY(writeTextFile(m_files, at("1.jsonl"), lines).has_value());
  DataSpec strict = spec();
  strict.badRowLimit = 0;
  const Dataset dataset = valueOrThrow(open(strict));
  const Status outcome = dataset.waitUntilComplete({});
  QVERIFY(!outcome.has_value());
  QVERIFY2(outcome.error().message.find(at("1.jsonl").string() + ":3001:") == 0, outcome.error().message.c_str());
  QVERIFY(!dataset.failure().has_value() && !dataset.complete());
  const auto source = valueOrThrow(dataset.trainingSource(64, 5));
  const auto batch = source->next(4);
  QVERIFY(!batch.has_value());
  QCOMPARE(batch.error().message, outcome.error().message);
}

void TestDataset::fingerprints() {
  std::vector<std::string> all;
  const auto add = [&](const DataSpec& spec) { all.push_back(valueOrThrow(open(spec)).fingerprint()); };
  DataSpec other = spec();
  add(other);
  other.weights = {3, 1};
  add(other);
  other.weights = {3, 2};
  add(other);
  other.weights = {};
  other.validationFraction = 0.2;
  add(other);
  other = spec();
  std::swap(other.sources[0], other.sources[1]);
  add(other);
  std::sort(all.begin(), all.end());
  QVERIFY(std::adjacent_find(all.begin(), all.end()) == all.end());
  // Moved, it is the same data.
  const std::string before = valueOrThrow(open(spec())).fingerprint();
  QVERIFY(m_files.createDirectories(at("moved")).has_value());
  for (const char* name : {"0.jsonl", "1.jsonl"}) QVERIFY(m_files.rename(at(name), at("moved") / name).has_value());
  DataSpec moved = spec();
  for (SourcePattern& source : moved.sources) source.path = (at("moved") / Path(source.path).filename()).string();
  QCOMPARE(valueOrThrow(open(moved)).fingerprint(), before);
}

void TestDataset::nothingToTrainOn() {
  DataSpec one = spec();
  one.sources.resize(1);
  one.validationFraction = 0.9999;
  QVERIFY(writeTextFile(m_files, at("0.jsonl"), "{\"text\": \"a\"}\n").has_value());
  const auto dataset = prepareDataset(m_files, m_pool, m_log, one, *m_tokenizer);
  QVERIFY(!dataset.has_value());
  QVERIFY2(dataset.error().message.find("no training data: all of the 1 documents") == 0,
           dataset.error().message.c_str());
  QVERIFY(!open([&] {
             DataSpec bad = spec();
             bad.weights = {1, -1};
             return bad;
           }())
               .has_value());
}

QTEST_GUILESS_MAIN(TestDataset)
#include "test_dataset.moc"

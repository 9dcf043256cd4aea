#include "checkpoint/checkpoint_store.h"

#include "base/atomic_file.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/manifest.h"
#include "checkpoint/small_state.h"
#include "storage/safetensors.h"

#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

using namespace millrace;
using test::SmallState;

class TestCheckpointStore : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_temporary;
  Log m_log;
  std::vector<std::string> m_warnings;

  Path folder() const { return Path(m_temporary->path().toStdString()) / "checkpoints"; }
  Path folder(std::int64_t step) const { return folder() / checkpointName(step); }
  CheckpointStore store() { return CheckpointStore(m_files, folder(), m_log); }

  static SmallState filled(std::uint64_t seed) {
    SmallState state;
    state.fill(seed);
    return state;
  }

  void save(CheckpointStore& store, std::int64_t step, const SaveOptions& options = {}) {
    const SmallState state = filled(static_cast<std::uint64_t>(step));
    const TrainerState trainer = test::trainerAt(step);
    const auto saved = store.save({state, trainer, R"({"model_type":"llama"})", R"({"model":{}})"}, options);
    QVERIFY2(saved.has_value(), saved ? "" : saved.error().message.c_str());
  }

  void flipBit(const Path& path, Bytes byte, int bit) {
    auto file = m_files.open(path, OpenMode::ReadWrite);
    std::byte value{};
    QVERIFY((*file)->read({&value, 1}, byte).has_value());
    value ^= static_cast<std::byte>(1 << bit);
    QVERIFY((*file)->write({&value, 1}, byte).has_value());
  }

  std::vector<std::int64_t> steps(const CheckpointStore& store) {
    std::vector<std::int64_t> result;
    const auto entries = store.list();
    for (const CheckpointEntry& entry : *entries) result.push_back(entry.step);
    return result;
  }

 private Q_SLOTS:
  void initTestCase() {
    m_log.addListener([this](LogLevel level, std::string_view message) {
      if (level == LogLevel::Warning) m_warnings.emplace_back(message);
    });
  }
  void init() {
    m_temporary = std::make_unique<QTemporaryDir>();
    m_warnings.clear();
  }

  void savedAndLoadedBitsAreEqual_data() {
    QTest::addColumn<qlonglong>("shardBytes");
    QTest::addColumn<int>("files");
    QTest::newRow("one shard") << qlonglong(GiB) << 3 + 4;
    QTest::newRow("a shard a tensor") << qlonglong(1) << 12 + 4;
    QTest::newRow("two shards") << qlonglong(165) << 6 + 4;
  }
  void savedAndLoadedBitsAreEqual() {
    QFETCH(qlonglong, shardBytes);
    QFETCH(int, files);
    CheckpointStore checkpoints = store();
    SaveOptions options;
    options.shardBytes = shardBytes;
    Bytes last = 0, total = 0;
    options.progress = [&](Bytes done, Bytes all) {
      QVERIFY(done > last);
      last = done;
      total = all;
    };
    save(checkpoints, 42, options);
    QCOMPARE(last, total);
    QCOMPARE(total, Bytes{3 * 4 * (35 + 5 + 15 + 5)});
    const auto manifest = readManifest(m_files, folder(42));
    QCOMPARE(int(manifest->files.size()), files);

    SmallState loaded;
    const auto trainer = checkpoints.load(42, loaded);
    QVERIFY2(trainer.has_value(), trainer ? "" : trainer.error().message.c_str());
    QVERIFY(*trainer == test::trainerAt(42));
    QVERIFY(loaded.sameBits(filled(42)));
    QVERIFY(!loaded.sameBits(filled(43)));
    QVERIFY(verifyCheckpoint(m_files, folder(42)).has_value());
  }

  void largeTensorsGoInPieces() {
    const std::vector<BlockSpec> blocks = {test::block("big", {{"w", {1025, 2048}, 128, true}}, 1025 * 2048 + 128)};
    SmallState state(blocks), loaded(blocks);
    state.fill(3);
    const TrainerState trainer = test::trainerAt(7);
    CheckpointStore checkpoints = store();
    const auto saved = checkpoints.save({state, trainer, "", ""});
    QVERIFY(saved.has_value());
    QCOMPARE(state.largestPiece, std::size_t{1} << 18);
    QVERIFY(saved->bytes <= checkpointBytes(blocks));
    QVERIFY(checkpoints.loadLatest(loaded).has_value());
    QVERIFY(loaded.sameBits(state));
    QCOMPARE(loaded.largestPiece, std::size_t{1} << 20);
  }

  void folderIsAModelFolder() {
    CheckpointStore checkpoints = store();
    SaveOptions options;
    options.shardBytes = 165;
    save(checkpoints, 5, options);
    const auto reader = SafetensorsReader::open(m_files, folder(5));
    QVERIFY2(reader.has_value(), reader ? "" : reader.error().message.c_str());
    QCOMPARE(reader->tensors().size(), std::size_t{4});
    const StoredTensor* tensor = reader->find("model.layers.0.q.weight");
    QVERIFY(tensor && tensor->shape == (std::vector<std::int64_t>{3, 5}));
    std::vector<float> expected(15), found(15);
    QVERIFY(filled(5).read(1, StatePlane::Master, 128, expected).has_value());
    QVERIFY(reader->readFloats(*tensor, 0, found).has_value());
    QVERIFY(std::memcmp(expected.data(), found.data(), sizeof(float) * 15) == 0);
    QCOMPARE(*readTextFile(m_files, folder(5) / "config.json"), std::string(R"({"model_type":"llama"})"));
  }

  void filesArePrivate() {
    CheckpointStore checkpoints = store();
    save(checkpoints, 5);
    struct stat info = {};
    QCOMPARE(::stat(folder(5).c_str(), &info), 0);
    QCOMPARE(info.st_mode & 0777u, 0700u);
    const auto names = m_files.list(folder(5));
    for (const std::string& name : *names) {
      QCOMPARE(::stat((folder(5) / name).c_str(), &info), 0);
      QCOMPARE(info.st_mode & 0777u, 0600u);
    }
  }

  void everyFlippedBitIsFoundAndNamed() {
    CheckpointStore checkpoints = store();
    SaveOptions options;
    options.shardBytes = 165;
    save(checkpoints, 10);
    save(checkpoints, 20, options);
    const std::vector<BlockSpec> blocks = test::smallBlocks();
    int flips = 0;
    const auto names = m_files.list(folder(20));
    for (const std::string& name : *names) {
      const Path path = folder(20) / name;
      const Bytes size = *(*m_files.open(path, OpenMode::Read))->size();
      for (Bytes byte = 0; byte < size; byte += std::max<Bytes>(1, size / 41)) {
        const int bit = static_cast<int>(byte % 8);
        flipBit(path, byte, bit);
        SmallState state;
        const auto outcome = flips % 2 ? checkpoints.load(20, state) : checkpoints.verify(20, &blocks);
        flipBit(path, byte, bit);
        ++flips;
        QVERIFY2(!outcome, qPrintable(QString("%1 byte %2").arg(name.c_str()).arg(byte)));
        QVERIFY2(outcome.error().message.find(path.string()) != std::string::npos, outcome.error().message.c_str());
        QVERIFY2(outcome.error().message.find(folder(10).string() + " is good") != std::string::npos,
                 outcome.error().message.c_str());
      }
    }
    QVERIFY(flips > 300);
    QVERIFY(checkpoints.verify(20, &blocks).has_value());
  }

  void damageIsNamedAndPassedOver_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("damage");
    QTest::addColumn<QString>("message");
    QTest::newRow("no manifest") << "manifest.json"
                                 << "remove"
                                 << "missing";
    QTest::newRow("empty manifest") << "manifest.json"
                                    << "empty"
                                    << "not valid JSON";
    QTest::newRow("no state") << "state.json"
                              << "remove"
                              << "missing";
    QTest::newRow("no shard") << "second-moment-00001-of-00001.safetensors"
                              << "remove"
                              << "missing";
    QTest::newRow("short shard") << "model-00001-of-00001.safetensors"
                                 << "shorten"
                                 << "bytes long, the manifest says";
    QTest::newRow("long shard") << "first-moment-00001-of-00001.safetensors"
                                << "lengthen"
                                << "bytes long, the manifest says";
    QTest::newRow("no tokenizer") << "tokenizer.json"
                                  << "remove"
                                  << "missing";
    QTest::newRow("empty config") << "config.json"
                                  << "empty"
                                  << "is 0 bytes long";
  }
  void damageIsNamedAndPassedOver() {
    QFETCH(QString, file);
    QFETCH(QString, damage);
    QFETCH(QString, message);
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    save(checkpoints, 20);
    const Path path = folder(20) / file.toStdString();
    if (damage == "remove") {
      QVERIFY(m_files.remove(path).has_value());
    } else {
      auto opened = m_files.open(path, OpenMode::ReadWrite);
      const Bytes size = *(*opened)->size();
      QVERIFY((*opened)->truncate(damage == "empty" ? 0 : damage == "shorten" ? size - 1 : size + 1).has_value());
    }
    SmallState state;
    const auto loaded = checkpoints.loadLatest(state);
    QVERIFY2(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
    QCOMPARE(loaded->step, std::int64_t{10});
    QVERIFY(state.sameBits(filled(10)));
    QCOMPARE(m_warnings.size(), std::size_t{1});
    QVERIFY2(m_warnings[0].find(path.string()) != std::string::npos, m_warnings[0].c_str());
    QVERIFY2(m_warnings[0].find(message.toStdString()) != std::string::npos, m_warnings[0].c_str());
    QCOMPARE(checkpoints.latestGood()->step, std::int64_t{10});
  }

  void noneGoodIsAnError() {
    CheckpointStore checkpoints = store();
    SmallState state;
    QVERIFY(!checkpoints.loadLatest(state));
    QVERIFY(!checkpoints.latestGood());
    save(checkpoints, 10);
    flipBit(folder(10) / "model-00001-of-00001.safetensors", 400, 0);
    const auto loaded = checkpoints.loadLatest(state);
    QVERIFY(!loaded);
    QVERIFY2(loaded.error().message.find("none of its 1 checkpoints is good") != std::string::npos,
             loaded.error().message.c_str());
    const auto exact = checkpoints.load(10, state);
    QVERIFY(exact.error().message.find("no other checkpoint of this run is good") != std::string::npos);
  }

  void anotherModelIsRefused_data() {
    QTest::addColumn<QString>("change");
    QTest::addColumn<QString>("message");
    QTest::newRow("more tensors") << "more"
                                  << "extra.weight is in none of the model-";
    QTest::newRow("fewer tensors") << "fewer"
                                   << "holds the tensor model.norm.weight";
    QTest::newRow("other shape") << "shape"
                                 << "model.norm.weight is (5), expected (6)";
  }
  void anotherModelIsRefused() {
    QFETCH(QString, change);
    QFETCH(QString, message);
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    std::vector<BlockSpec> blocks = test::smallBlocks();
    if (change == "more") blocks[2].parameters.push_back({"extra.weight", {2}, 100, false});
    if (change == "fewer") blocks[2].parameters.clear();
    if (change == "shape") blocks[2].parameters[0].shape = {6};
    SmallState state(blocks);
    const auto loaded = checkpoints.load(10, state);
    QVERIFY(!loaded);
    QVERIFY2(loaded.error().message.find(message.toStdString()) != std::string::npos, loaded.error().message.c_str());
  }

  void newerFormatIsRefused() {
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    std::string text = *readTextFile(m_files, folder(10) / "manifest.json");
    text.replace(text.find("\"format\": 1"), 11, "\"format\": 9");
    QVERIFY(writeTextFile(m_files, folder(10) / "manifest.json", text).has_value());
    const auto verified = checkpoints.verify(10);
    QVERIFY(verified.error().message.find("format is 9, this build reads up to 1") != std::string::npos);
  }

  void manifestNamesStayInside() {
    for (const std::string name : {"../x", "a/b", "..", ""}) {
      Manifest manifest;
      manifest.files.push_back({name, 0, std::string(32, '0')});
      QVERIFY(writeTextFile(m_files, Path(m_temporary->path().toStdString()) / "manifest.json", manifestText(manifest))
                  .has_value());
      QVERIFY(!readManifest(m_files, m_temporary->path().toStdString()));
    }
  }

  void rotationKeepsTheLastAndTheBest_data() {
    QTest::addColumn<int>("keep");
    QTest::addColumn<qlonglong>("best");
    QTest::addColumn<QList<qlonglong>>("left");
    QTest::newRow("last two") << 2 << -1ll << QList<qlonglong>{40, 50};
    QTest::newRow("last two and an old best") << 2 << 20ll << QList<qlonglong>{20, 40, 50};
    QTest::newRow("best among the last") << 2 << 50ll << QList<qlonglong>{40, 50};
    QTest::newRow("zero counts as one") << 0 << -1ll << QList<qlonglong>{50};
    QTest::newRow("more than there are") << 9 << -1ll << QList<qlonglong>{10, 20, 30, 40, 50};
  }
  void rotationKeepsTheLastAndTheBest() {
    QFETCH(int, keep);
    QFETCH(qlonglong, best);
    QFETCH(QList<qlonglong>, left);
    CheckpointStore checkpoints = store();
    for (std::int64_t step = 10; step <= 50; step += 10) save(checkpoints, step);
    if (best >= 0) {
      QVERIFY(checkpoints.markBest(best, 1.25).has_value());
      QCOMPARE(store().best()->step, std::int64_t{best});
      QCOMPARE(store().best()->validationLoss, 1.25);
    }
    QVERIFY(checkpoints.rotate(keep).has_value());
    const auto found = steps(checkpoints);
    QCOMPARE(QList<qlonglong>(found.begin(), found.end()), left);
    for (const auto step : found) QVERIFY(checkpoints.verify(step).has_value());
    QCOMPARE(m_files.list(folder())->size(), std::size_t(left.size() + (best >= 0 ? 1 : 0)));
  }

  void bestMustExist() {
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    QVERIFY(!checkpoints.markBest(11, 1.0));
    QVERIFY(!checkpoints.best());
    QVERIFY(checkpoints.markBest(10, 1.0).has_value());
    QVERIFY(writeTextFile(m_files, folder() / "best.json", "{broken").has_value());
    QVERIFY(!checkpoints.best());
    QVERIFY(m_warnings.back().find("best.json") != std::string::npos);
  }

  void rotationNeverRemovesTheOnlyGoodOne() {
    {
      CheckpointStore checkpoints = store();
      for (std::int64_t step = 10; step <= 40; step += 10) save(checkpoints, step);
    }
    flipBit(folder(30) / "state.json", 12, 3);
    flipBit(folder(40) / "model-00001-of-00001.safetensors", 300, 3);
    CheckpointStore fresh = store(); // knows nothing to be good
    QVERIFY(fresh.rotate(2).has_value());
    QCOMPARE(steps(fresh), (std::vector<std::int64_t>{20, 30, 40}));
    QVERIFY(fresh.verify(20).has_value());
    save(fresh, 50);
    QVERIFY(fresh.rotate(1).has_value());
    QCOMPARE(steps(fresh), (std::vector<std::int64_t>{50}));
  }

  /// A folder that was emptied, or copied in part, is no checkpoint to go on from.
  void rotationCountsWhatHasAManifest() {
    CheckpointStore checkpoints = store();
    for (std::int64_t step = 10; step <= 40; step += 10) save(checkpoints, step);
    for (const std::int64_t step : {30, 40}) QVERIFY(m_files.remove(folder(step) / "manifest.json").has_value());
    QVERIFY(checkpoints.rotate(2).has_value());
    QCOMPARE(steps(checkpoints), (std::vector<std::int64_t>{10, 20, 30, 40}));
    QVERIFY(checkpoints.rotate(1).has_value());
    QCOMPARE(steps(checkpoints), (std::vector<std::int64_t>{20, 30, 40}));
  }

  void allDamagedIsLeftAlone() {
    {
      CheckpointStore checkpoints = store();
      save(checkpoints, 10);
      save(checkpoints, 20);
    }
    flipBit(folder(10) / "state.json", 12, 3);
    flipBit(folder(20) / "state.json", 12, 3);
    CheckpointStore fresh = store();
    QVERIFY(fresh.rotate(1).has_value());
    QCOMPARE(steps(fresh), (std::vector<std::int64_t>{10, 20}));
  }

  void sameStepIsReplaced() {
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    const SmallState other = filled(99);
    const TrainerState trainer = test::trainerAt(10);
    QVERIFY(checkpoints.save({other, trainer, "", ""}).has_value());
    SmallState loaded;
    QVERIFY(checkpoints.load(10, loaded).has_value());
    QVERIFY(loaded.sameBits(other));
    QCOMPARE(m_files.list(folder())->size(), std::size_t{1});
    QVERIFY(!m_files.exists(folder(10) / "config.json")); // nothing of the old one is left in it
  }

  void abandonedAtEveryPoint() {
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    const SmallState state = filled(20);
    const TrainerState trainer = test::trainerAt(20);
    int allowed = 0;
    for (;; ++allowed) {
      int asked = 0;
      SaveOptions options;
      options.abandoned = [&] { return asked++ >= allowed; };
      const auto saved = checkpoints.save({state, trainer, "{}", "{}"}, options);
      if (saved) break;
      QCOMPARE(saved.error().kind, ErrorKind::Interrupted);
      QCOMPARE(*m_files.list(folder()), (std::vector<std::string>{checkpointName(10)}));
    }
    QVERIFY(allowed > 15);
    QCOMPARE(steps(checkpoints), (std::vector<std::int64_t>{10, 20}));
  }

  void leftoversAndStrangersAreNotListed() {
    CheckpointStore checkpoints = store();
    save(checkpoints, 10);
    for (const char* name : {"step-00000020.tmp-4711", "step-7", "step-0000000x", "notes", "step-00000030.replaced-1"})
      QVERIFY(m_files.createDirectories(folder() / name).has_value());
    QCOMPARE(steps(checkpoints), (std::vector<std::int64_t>{10}));
    QVERIFY(checkpoints.recover().has_value());
    QVERIFY(!m_files.exists(folder() / "step-00000020.tmp-4711"));
    QVERIFY(m_files.exists(folder() / "notes"));
    QCOMPARE(steps(checkpoints), (std::vector<std::int64_t>{10, 30})); // put back: it was about to be replaced
  }
};

QTEST_GUILESS_MAIN(TestCheckpointStore)
#include "test_checkpoint_store.moc"

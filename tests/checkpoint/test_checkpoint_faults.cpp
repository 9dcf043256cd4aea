// Saves, rotations and recoveries interrupted at every single file operation, with several ideas of what a disk holds
// after a power loss.
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/small_state.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QTest>

using namespace millrace;
using test::Fault;
using test::FaultyFileSystem;
using test::Loss;
using test::MemoryFileSystem;
using test::SmallState;

namespace {

const Path folder = "/run/checkpoints";

SmallState filled(std::uint64_t seed) {
  SmallState state;
  state.fill(seed);
  return state;
}

/// contents: the seed of the parameters.
Result<SavedCheckpoint> save(FileSystem& files, std::int64_t step, std::uint64_t contents) {
  Log log;
  CheckpointStore store(files, folder, log);
  const SmallState state = filled(contents);
  TrainerState trainer = test::trainerAt(step);
  trainer.seed = contents;
  SaveOptions options;
  options.shardBytes = 165;
  return store.save({state, trainer, "{\"a\":1}", "{\"b\":2}"}, options);
}

/// What stands under final names is complete, nothing else is left, and the newest loads with the bits it was saved
/// with.
TrainerState recoverAndLoad(MemoryFileSystem& disk) {
  Log log;
  CheckpointStore store(disk, folder, log);
  TrainerState none;
  none.step = -1;
  if (!store.recover()) return none;
  const auto entries = store.list();
  if (!entries || disk.list(folder)->size() != entries->size()) return none;
  for (const CheckpointEntry& entry : *entries)
    if (!verifyCheckpoint(disk, entry.path)) return none;
  SmallState state;
  const auto trainer = store.loadLatest(state);
  return trainer && state.sameBits(filled(trainer->seed)) ? *trainer : none;
}

struct PowerLoss {
  const char* name;
  Loss loss;
  std::uint64_t seed;
};

void addLosses() {
  QTest::addColumn<int>("loss");
  QTest::addColumn<int>("seed");
  QTest::newRow("killed, nothing lost") << int(Loss::Nothing) << 0;
  QTest::newRow("power loss, all unsynced gone") << int(Loss::Everything) << 0;
  for (int seed = 1; seed <= 6; ++seed)
    QTest::addRow("power loss, some unsynced gone %d", seed) << int(Loss::Some) << seed;
}

} // namespace

class TestCheckpointFaults : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void saveInterruptedAnywhere_data() { addLosses(); }
  void saveInterruptedAnywhere() {
    QFETCH(int, loss);
    QFETCH(int, seed);
    bool completed = false;
    int older = 0, newer = 0;
    for (std::int64_t operation = 0; !completed; ++operation) {
      MemoryFileSystem disk;
      QVERIFY(disk.createDirectories(folder).has_value());
      QVERIFY(disk.syncDirectory("/run").has_value() && disk.syncDirectory("/").has_value());
      QVERIFY(save(disk, 10, 1).has_value());
      FaultyFileSystem files(disk);
      files.failAt(operation, Fault::Crash);
      completed = save(files, 20, 2).has_value();
      disk.powerLoss(static_cast<Loss>(loss), static_cast<std::uint64_t>(seed * 1000 + operation));
      const TrainerState loaded = recoverAndLoad(disk);
      QVERIFY2(loaded.step == 10 || loaded.step == 20, qPrintable(QString("operation %1").arg(operation)));
      (loaded.step == 10 ? older : newer) += 1;
      if (completed) QCOMPARE(loaded.step, std::int64_t{20}); // a save that was reported stays
    }
    QVERIFY2(older > 50 && newer > 0, qPrintable(QString("%1 %2").arg(older).arg(newer)));
  }

  void replacementInterruptedAnywhere_data() { addLosses(); }
  void replacementInterruptedAnywhere() {
    QFETCH(int, loss);
    QFETCH(int, seed);
    bool completed = false;
    for (std::int64_t operation = 0; !completed; ++operation) {
      // The only checkpoint is saved again; it must stand throughout, recoveries that are interrupted too included.
      for (std::int64_t recovery = 0; recovery < 6; ++recovery) {
        MemoryFileSystem disk;
        QVERIFY(disk.createDirectories(folder).has_value());
        QVERIFY(disk.syncDirectory("/run").has_value() && disk.syncDirectory("/").has_value());
        QVERIFY(save(disk, 10, 1).has_value());
        FaultyFileSystem files(disk);
        files.failAt(operation, Fault::Crash);
        completed = save(files, 10, 2).has_value();
        disk.powerLoss(static_cast<Loss>(loss), static_cast<std::uint64_t>(seed * 1000 + operation));
        files.failAt(recovery, Fault::Crash);
        (void)removeLeftovers(files, folder);
        disk.powerLoss(static_cast<Loss>(loss), static_cast<std::uint64_t>(seed * 1000 + recovery));
        const TrainerState loaded = recoverAndLoad(disk);
        QVERIFY2(loaded.step == 10, qPrintable(QString("operation %1, recovery %2").arg(operation).arg(recovery)));
        if (completed) QCOMPARE(loaded.seed, std::uint64_t{2});
      }
    }
  }

  void rotationInterruptedAnywhere_data() { addLosses(); }
  void rotationInterruptedAnywhere() {
    QFETCH(int, loss);
    QFETCH(int, seed);
    bool completed = false;
    for (std::int64_t operation = 0; !completed; ++operation) {
      MemoryFileSystem disk;
      QVERIFY(disk.createDirectories(folder).has_value());
      QVERIFY(disk.syncDirectory("/run").has_value() && disk.syncDirectory("/").has_value());
      for (const std::int64_t step : {10, 20, 30}) QVERIFY(save(disk, step, std::uint64_t(step)).has_value());
      FaultyFileSystem files(disk);
      files.failAt(operation, Fault::Crash);
      Log log;
      completed = CheckpointStore(files, folder, log).rotate(1).has_value();
      disk.powerLoss(static_cast<Loss>(loss), static_cast<std::uint64_t>(seed * 1000 + operation));
      const TrainerState loaded = recoverAndLoad(disk);
      QVERIFY2(loaded.step == 30, qPrintable(QString("operation %1").arg(operation)));
    }
  }

  void ioErrorAnywhere() {
    int errors = 0;
    for (std::int64_t operation = 0;; ++operation) {
      MemoryFileSystem disk;
      QVERIFY(save(disk, 10, 1).has_value());
      FaultyFileSystem files(disk);
      files.failAt(operation, Fault::Error);
      const auto saved = save(files, 20, 2);
      if (files.operations() <= operation) break;
      if (!saved) {
        ++errors;
        QCOMPARE(saved.error().kind, ErrorKind::Failed);
        const auto names = disk.list(folder);
        for (const std::string& name : *names) QVERIFY2(name.find("tmp") == std::string::npos, name.c_str());
      }
      const TrainerState loaded = recoverAndLoad(disk);
      QVERIFY(loaded.step == 10 || loaded.step == 20);
      files.repair();
      QVERIFY(save(files, 20, 2).has_value()); // the next attempt works
      QCOMPARE(recoverAndLoad(disk).step, std::int64_t{20});
    }
    QVERIFY(errors > 50);
  }

  void fullDiskAnywhere() {
    int full = 0;
    for (std::int64_t operation = 0;; ++operation) {
      MemoryFileSystem disk;
      QVERIFY(save(disk, 10, 1).has_value());
      FaultyFileSystem files(disk);
      files.failAt(operation, Fault::NoSpace);
      const auto saved = save(files, 20, 2);
      if (saved) break;
      ++full;
      QCOMPARE(saved.error().kind, ErrorKind::OutOfSpace);
      QVERIFY2(saved.error().message.find("is needed") != std::string::npos &&
                   saved.error().message.find("is free") != std::string::npos,
               saved.error().message.c_str());
      QCOMPARE(*disk.list(folder), (std::vector<std::string>{checkpointName(10)})); // its space is given back
      files.repair();
      QVERIFY(save(files, 20, 2).has_value());
      QCOMPARE(recoverAndLoad(disk).step, std::int64_t{20});
    }
    QVERIFY(full > 50);
  }

  void spaceIsAskedForBeforehand() {
    MemoryFileSystem disk;
    FaultyFileSystem files(disk);
    files.setFreeSpace(checkpointBytes(test::smallBlocks()) - 1);
    const auto saved = save(files, 20, 2);
    QVERIFY(!saved);
    QCOMPARE(saved.error().kind, ErrorKind::OutOfSpace);
    QVERIFY(!disk.exists(folder));
    files.setFreeSpace(checkpointBytes(test::smallBlocks()) + 100);
    QVERIFY(save(files, 20, 2).has_value());
  }

  void readErrorsFallBack() {
    MemoryFileSystem disk;
    QVERIFY(save(disk, 10, 1).has_value());
    QVERIFY(save(disk, 20, 2).has_value());
    int passedOver = 0;
    for (std::int64_t operation = 1;; ++operation) { // operation 0 lists the folder
      FaultyFileSystem files(disk);
      files.failAt(operation, Fault::Error);
      Log log;
      int warnings = 0;
      log.addListener([&](LogLevel, std::string_view) { ++warnings; });
      CheckpointStore store(files, folder, log);
      SmallState state;
      const auto trainer = store.loadLatest(state);
      if (files.operations() <= operation) break;
      QVERIFY(trainer.has_value());
      QVERIFY(state.sameBits(filled(trainer->seed)));
      QCOMPARE(trainer->step, std::int64_t{warnings ? 10 : 20});
      passedOver += warnings;
    }
    QVERIFY(passedOver > 50);
  }
};

QTEST_GUILESS_MAIN(TestCheckpointFaults)
#include "test_checkpoint_faults.moc"

// Runs whose memory has no room for their state, so that a part of it lives on disk: they end in the bits of a run in
// memory, also when they are killed again and again; what a drive does to the state is found and told, and the
// checkpoint stands.
#include "app/run_files.h"

#include <QRandomGenerator>

using namespace millrace::test;

namespace {

constexpr int steps = 60;

/// Deep enough that the state is more than the buffers on its way to the disk.
QString writeDeepProject(const QString& folder) {
  const QString path = writeTinyProject(folder, "heron", steps);
  QJsonObject project = QJsonDocument::fromJson(readFile(path)).object();
  QJsonObject model = project["model"].toObject(), config = model["config"].toObject();
  config["num_hidden_layers"] = 16;
  config["hidden_size"] = 64;
  config["intermediate_size"] = 128;
  model["config"] = config;
  project["model"] = model;
  writeFile(path, QJsonDocument(project).toJson());
  return path;
}

QStringList onDisk(const QString& drive, qint64 ram) {
  return {"--set", "memory.nvme.directories=[\"" + drive + "\"]", "--set", "memory.nvme.shard_size=16MiB",
          "--set", QString("memory.ram_limit=%1").arg(ram)};
}

/// A RAM limit with which the plan puts all of some layers on the drive, and the moments alone of others; 0: there is
/// none.
qint64 limitThatNeeds(const QString& project, const QString& drive) {
  for (qint64 ram = 10'000'000; ram > 1'000'000; ram = ram * 9 / 10) {
    const QJsonObject plan = runProgram(QStringList{"plan", project, "--json"} + onDisk(drive, ram)).object();
    const QJsonObject units = plan["placement"].toObject()["units"].toObject();
    if (plan["verdict"] == "fits" && units["on_disk"].toInt() > 1 && units["moments_on_disk"].toInt() > 1) return ram;
  }
  return 0;
}

QStringList tierFolders(const QString& drive) {
  return QDir(drive).entryList({"millrace-state-*"}, QDir::Dirs);
}

/// Changes every byte of the state behind the first page, which says what the file is.
int spoil(const QString& drive) {
  int spoilt = 0;
  for (const QString& folder : tierFolders(drive)) {
    const QDir inside(drive + "/" + folder);
    for (const QString& name : inside.entryList(QDir::Files)) {
      QFile file(inside.filePath(name));
      if (name == "owner" || !file.open(QIODevice::ReadWrite)) continue;
      file.seek(4096);
      QByteArray contents = file.read(8 << 20);
      for (char& byte : contents) byte = static_cast<char>(byte ^ 0x10);
      file.seek(4096);
      if (file.write(contents) == contents.size()) ++spoilt;
    }
  }
  return spoilt;
}

} // namespace

class TestDiskRuns : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_project = writeDeepProject(m_folder.path());
    m_drive = m_folder.filePath("drive");
    m_whole = m_folder.filePath("whole");
    const Outcome inMemory = runProgram(QStringList{"train", m_project, "--run-dir", m_whole} + m_settings);
    QVERIFY2(inMemory.code == 0, inMemory.error.constData());
    m_ram = limitThatNeeds(m_project, m_drive);
    QVERIFY(m_ram > 0);
  }

  void equalInBits() {
    const QString run = m_folder.filePath("run");
    const Outcome outcome = train(run);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    compareRuns(run, m_whole);
    for (const QByteArray& line : readFile(run + "/metrics.jsonl").split('\n')) {
      if (line.isEmpty()) continue;
      const QJsonArray links = QJsonDocument::fromJson(line).object()["links"].toArray();
      QCOMPARE(links.size(), 2);
      QCOMPARE(links[1].toObject()["name"].toString(), QString("disk"));
      QVERIFY(links[1].toObject()["bytes_in"].toDouble() > 0);
    }
    QVERIFY(tierFolders(m_drive).isEmpty()); // what is worthless without the process goes with it
  }

  void killedAgainAndAgain() {
    const QString run = m_folder.filePath("killed");
    QRandomGenerator random(7);
    int kills = 0;
    for (int i = 0; i < 100 && kills < 20; ++i) {
      Child child(arguments(run));
      QVERIFY(child.start());
      if (child.process().waitForFinished(200 + static_cast<int>(random.bounded(900)))) {
        QVERIFY2(child.wait().code == 0, child.wait().error.constData());
        compareRuns(run, m_whole);
        QVERIFY(QDir(run).removeRecursively());
        continue;
      }
      child.signal(SIGKILL);
      if (!child.wait().finished) ++kills;
    }
    QCOMPARE(kills, 20);
    const Outcome last = train(run);
    QVERIFY2(last.code == 0, last.error.constData());
    compareRuns(run, m_whole);
    QVERIFY(tierFolders(m_drive).isEmpty()); // those of the killed ones too
  }

  /// A model by its size alone, in one line.
  void ofASize() {
    const QString run = m_folder.filePath("sized"), data = m_folder.filePath("geese.txt");
    const QStringList few{"training.steps=3", "training.context=64", "training.micro_batches=2"};
    const Outcome small =
        runProgram(QStringList{"train", "--model-size", "5e6", "--offload-dir", m_drive, "--data", data, "--vram-limit",
                               "40MiB", "--ram-limit", "72MiB", "--run-dir", run} +
                   few);
    QVERIFY2(small.code == 0, small.error.constData());
    QVERIFY(readFile(run + "/metrics.jsonl").contains("\"name\":\"disk\""));
    QVERIFY(!newestCheckpoint(run).isEmpty());
    const QString none = m_folder.filePath("none");
    const Outcome large =
        runProgram({"train", "--model-size", "5e12", "--offload-dir", m_drive, "--data", data, "--run-dir", none});
    QCOMPARE(large.code, 3);
    QVERIFY2(isOneError(large, {"too small"}), large.error.constData());
    QVERIFY(!QDir(none).exists());
    const Outcome nothing = runProgram({"train", "--model-size", "1e6"});
    QVERIFY(nothing.code == 2 && isOneError(nothing, {"--data"}));
    const Outcome both = runProgram({"train", m_project, "--data", data});
    QVERIFY(both.code == 2 && isOneError(both, {"--data", "--model-size"}));
  }

  void spoiltState() {
    const QString run = m_folder.filePath("spoilt");
    Child child(QStringList{"train", m_project, "--run-dir", run, "--json"} + m_settings + onDisk(m_drive, m_ram) +
                QStringList{"--set", "training.steps=100000"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("checkpoint"));
    QVERIFY(spoil(m_drive) > 0);
    const Outcome outcome = child.wait();
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.error.contains("not what was written") && outcome.error.contains("resume") &&
                 outcome.error.contains(" of layers."),
             outcome.error.constData());
    const Outcome check = runProgram({"check", "checkpoint", run});
    QVERIFY2(check.code == 0, check.error.constData());
    QVERIFY(tierFolders(m_drive).isEmpty());
  }

 private:
  QStringList arguments(const QString& run) const {
    return QStringList{"train", m_project, "--run-dir", run, "--resume-or-start"} + m_settings + onDisk(m_drive, m_ram);
  }
  Outcome train(const QString& run) const { return runProgram(arguments(run)); }

  const QStringList m_settings{"--set", "checkpoint.every=7", "--set", "evaluation.every=20"};
  QTemporaryDir m_folder;
  QString m_project, m_drive, m_whole;
  qint64 m_ram = 0;
};

QTEST_GUILESS_MAIN(TestDiskRuns)
#include "test_disk_runs.moc"

#include "app/program.h"

#include <QDirIterator>

using namespace millrace::test;

class TestBenchNvme : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void measuresAndLeavesNothing_data() {
    QTest::addColumn<QString>("io");
    QTest::addColumn<QString>("expected"); // where the system allows it
    QTest::newRow("auto") << "auto"
                          << "";
    QTest::newRow("threads") << "threads"
                             << "16 threads";
  }
  void measuresAndLeavesNothing() {
    QFETCH(const QString, io);
    QFETCH(const QString, expected);
    QTemporaryDir first, second;
    const Outcome outcome = runProgram({"bench", "nvme", "--json", "--dir", first.path(), "--dir", second.path(),
                                        "--bytes", "1MiB", "--seconds", "0.01", "--threads", "2", "--io", io});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject report = outcome.object();
    QCOMPARE(report["machine"]["threads"].toInt(), 2);
    QCOMPARE(report["bytes"].toInteger(), qint64{480} << 20);
    QCOMPARE(report["directories"].toArray(), QJsonArray({first.path(), second.path()}));
    QVERIFY2(report["io"].toString().contains(expected), qPrintable(report["io"].toString()));
    QVERIFY(report["io"].toString().endsWith("2 directories"));
    for (const char* rate : {"read_bytes_per_second", "write_bytes_per_second", "mixed_bytes_per_second"})
      QVERIFY2(report[rate].toDouble() > 0, rate);
    const QJsonObject pipeline = report["pipeline"].toObject();
    QVERIFY(pipeline["bytes_per_second"].toDouble() > 0 && pipeline["share_of_mixed"].toDouble() > 0);
    QCOMPARE(pipeline["parameters_per_second"].toDouble(), pipeline["bytes_per_second"].toDouble() / 20);
    for (const QTemporaryDir* folder : {&first, &second})
      QVERIFY(QDir(folder->path()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
  }

  void canBeInterrupted() {
    QTemporaryDir folder;
    Child child({"bench", "nvme", "--dir", folder.path(), "--bytes", "1MiB", "--seconds", "3000"});
    QVERIFY(child.start());
    QTRY_VERIFY(!QDir(folder.path()).isEmpty());
    child.signal(SIGINT);
    const Outcome outcome = child.wait();
    QVERIFY(outcome.finished);
    QCOMPARE(outcome.code, 4);
    QVERIFY(QDir(folder.path()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
  }

  void whatAKilledOneLeftGoes() {
    QTemporaryDir folder;
    Child child({"bench", "nvme", "--dir", folder.path(), "--bytes", "1MiB", "--seconds", "3000"});
    QVERIFY(child.start());
    const auto shards = [&] {
      QDirIterator files(folder.path(), {"shard-*"}, QDir::Files, QDirIterator::Subdirectories);
      return files.hasNext();
    };
    QTRY_VERIFY(shards());
    child.signal(SIGKILL);
    QVERIFY(!child.wait().finished);
    QVERIFY(shards());
    const Outcome outcome =
        runProgram({"bench", "nvme", "--dir", folder.path(), "--bytes", "1MiB", "--seconds", "0.001"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QVERIFY2(outcome.error.contains("state that a process left behind"), outcome.error.constData());
    QVERIFY(QDir(folder.path()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
  }
};

QTEST_GUILESS_MAIN(TestBenchNvme)
#include "test_bench_nvme.moc"

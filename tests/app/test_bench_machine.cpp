#include "app/program.h"

using namespace millrace::test;

class TestBenchMachine : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void measuresPrintsAndKeeps() {
    QTemporaryDir folder;
    const QString cache = folder.filePath("cache/millrace/rates.json");
    const QStringList command{"bench", "machine", "--disk", folder.path(), "--threads", "2", "--seconds", "0.01"};
    const QStringList environment{"XDG_CACHE_HOME=" + folder.filePath("cache")};
    const Outcome outcome = runProgram(command + QStringList{"--json"}, {}, environment);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject report = outcome.object();
    QCOMPARE(report["threads"].toInt(), 2);
    QCOMPARE(report["device"].toString(), "cpu");
    const QJsonObject rates = report["rates"].toObject();
    for (const char* rate :
         {"copy_in", "copy_out", "copy_both", "device_memory", "gemm_fp32", "gemm_bf16", "host_memory", "adamw_fp32",
          "adamw_split", "adamw_fp32_beside_copies", "adamw_split_beside_copies"})
      QVERIFY2(rates[rate].toObject()["per_second"].toDouble() > 0, rate);
    QVERIFY(!rates.contains("gemm_tf32"));
    QCOMPARE(report["disks"].toArray().size(), 1);
    QCOMPARE(report["disks"][0]["folder"].toString(), folder.path());
    QVERIFY(report["disks"][0]["read"]["per_second"].toDouble() > 0);
    QVERIFY(report["peak_bytes"].toInteger() <= qint64{2} << 30);
    const QJsonObject kept = QJsonDocument::fromJson(readFile(cache)).object()["machines"][0].toObject();
    QCOMPARE(kept["rates"], report["rates"]);
    QCOMPARE(kept["disks"], report["disks"]);
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot),
             QStringList{"cache"}); // the disk's file is gone

    // A damaged cache is told of and kept aside.
    writeFile(cache, "{\"format\": 1, \"machines\": [");
    const Outcome again = runProgram({"bench", "machine", "--seconds", "0.001"}, {}, environment);
    QCOMPARE(again.code, 0);
    QVERIFY2(again.error.contains("a damaged cache of measured rates was kept aside"), again.error.constData());
    for (const char* words : {"matrix products, bf16", "AdamW, split weights", "kept in "})
      QVERIFY2(again.out.contains(words), again.out.constData());
    QCOMPARE(QJsonDocument::fromJson(readFile(cache)).object()["machines"].toArray().size(), 1);
  }

  void afterADiskThatFails() {
    QTemporaryDir folder;
    const QString cache = folder.filePath("rates.json");
    const QStringList command{"bench", "machine", "--seconds", "0.001", "--cache", cache, "--disk", "/proc/self"};
    const Outcome outcome = runProgram(command);
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.error.contains("millrace: not measured: the disk behind /proc/self"), outcome.error.constData());
    QVERIFY(readFile(cache).contains("adamw_split")); // the rest is kept
  }

  void filesOfOthersAreLeftAlone() {
    QTemporaryDir folder;
    const QString file = folder.filePath("project.json");
    for (const char* contents : {"{\"format\": 1, \"model\": {}}", "", "[]", "no JSON"}) {
      writeFile(file, contents);
      const Outcome outcome = runProgram({"bench", "machine", "--cache", file});
      QCOMPARE(outcome.code, 2);
      QVERIFY2(isOneError(outcome, {"project.json: exists and is no cache"}), outcome.error.constData());
      QCOMPARE(readFile(file), QByteArray(contents));
      QVERIFY(outcome.out.isEmpty());
    }
  }

  void noCacheWithoutAHome() {
    QTemporaryDir folder;
    const QString home = folder.filePath("none");
    const Outcome outcome =
        runProgram({"bench", "machine", "--seconds", "0.001"}, {}, {"XDG_CACHE_HOME=", "HOME=" + home});
    QCOMPARE(outcome.code, 0);
    QVERIFY2(outcome.error.contains("no measured rates are kept"), outcome.error.constData());
    QVERIFY(!outcome.out.contains("kept in") && !QDir(home).exists());
  }

  void canBeInterrupted() {
    QTemporaryDir folder;
    for (const int number : {SIGINT, SIGTERM}) {
      const QString cache = folder.filePath("rates.json");
      Child child({"bench", "machine", "--seconds", "0.5", "--cache", cache});
      QVERIFY(child.start());
      // Once it takes signals itself it measures for seconds.
      const QString status = QString("/proc/%1/status").arg(child.process().processId());
      QTRY_VERIFY(!readFile(status).contains("SigBlk:\t0000000000000000"));
      child.signal(number);
      const Outcome outcome = child.wait();
      QVERIFY(outcome.finished);
      QCOMPARE(outcome.code, 4);
      QVERIFY2(isOneError(outcome, {"given up"}), outcome.error.constData());
      QVERIFY(!QFile::exists(cache));
    }
  }

  void aCacheThatCannotBeWritten() {
    const Outcome outcome = runProgram({"bench", "machine", "--seconds", "0.001", "--cache", "/proc/self/rates.json"});
    QVERIFY(outcome.code != 0);
    QVERIFY(outcome.out.contains("AdamW, split weights")); // what was measured is shown
    QVERIFY2(isOneError(outcome, {"/proc/self/rates.json"}), outcome.error.constData());
  }
};

QTEST_GUILESS_MAIN(TestBenchMachine)
#include "test_bench_machine.moc"

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

    // A damaged cache is told of and replaced.
    writeFile(cache, "{\"format\": 1, \"machines\": [");
    const Outcome again = runProgram({"bench", "machine", "--seconds", "0.001"}, {}, environment);
    QCOMPARE(again.code, 0);
    QVERIFY2(again.error.contains("a damaged cache of measured rates was replaced"), again.error.constData());
    for (const char* words : {"matrix products, bf16", "AdamW, split weights", "kept in "})
      QVERIFY2(again.out.contains(words), again.out.constData());
    QCOMPARE(QJsonDocument::fromJson(readFile(cache)).object()["machines"].toArray().size(), 1);
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

#include "app/program.h"

#include <QRegularExpression>

using namespace millrace::test;

namespace {

/// The "(N bytes)" of a message; -1 when there is none.
qint64 bytesNamed(const QByteArray& message) {
  const auto match = QRegularExpression("\\((\\d+) bytes\\)").match(QString::fromUtf8(message));
  return match.hasMatch() ? match.captured(1).toLongLong() : -1;
}

} // namespace

class TestPlanCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_project = writeTinyProject(m_folder->path(), "tiny", 10);
  }

  void tellsBytesByTierAndCategory() {
    QVERIFY(QFile::remove(m_folder->filePath("geese.txt"))); // it needs no data
    const Outcome outcome = runProgram({"plan", m_project, "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject plan = outcome.object();
    QCOMPARE(plan["verdict"].toString(), "fits");
    QCOMPARE(plan["project"].toString(), "tiny");
    QCOMPARE(plan["clip"].toString(), "exact");
    QCOMPARE(plan["layers"].toInt(), 3);
    QCOMPARE(plan["tokens_per_step"].toInt(), 2 * 2 * 32);
    const QJsonArray tiers = plan["tiers"].toArray();
    QCOMPARE(tiers.size(), 2);
    for (const QJsonValue& tier : tiers) {
      qint64 sum = 0;
      const QJsonObject categories = tier["categories"].toObject();
      for (const QString& category : categories.keys()) sum += categories[category].toInteger();
      QVERIFY(sum > 0);
      QCOMPARE(sum, tier["bytes"].toInteger());
      QVERIFY(sum <= tier["limit"].toInteger());
    }
    QCOMPARE(tiers[0]["tier"].toString(), "device");
    QCOMPARE(tiers[0]["limit"].toInteger(), 4 << 20);
    QCOMPARE(tiers[1]["limit_origin"].toString(), "memory.ram_limit");
    // Two Adam moments of 4 bytes for every parameter.
    QVERIFY(tiers[1]["categories"]["moments"].toInteger() >= 8 * plan["parameters"].toInteger());
  }

  void textSaysTheSame() {
    const Outcome outcome = runProgram({"plan", m_project});
    QCOMPARE(outcome.code, 0);
    for (const char* words : {"tiny: fits", "device memory:", "host memory:", "memory.vram_limit", "moments"})
      QVERIFY2(outcome.out.contains(words), outcome.out.constData());
  }

  void limitsThatAreNotSetComeFromTheMachine() {
    const Outcome outcome =
        runProgram({"plan", m_project, "--json", "--set", "memory.vram_limit=null", "memory.ram_limit=null"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonArray tiers = outcome.object()["tiers"].toArray();
    const qint64 free = runProgram({"hw", "--json"}).object()["memory"].toObject()["usable"].toInteger();
    const qint64 device = tiers.at(0).toObject()["limit"].toInteger();
    const qint64 limits = device + tiers.at(1).toObject()["limit"].toInteger();
    QVERIFY(device > 0);
    QVERIFY(limits <= free + free / 5); // what is free changes between the two calls
  }

  void tooSmallSaysHowMuchIsNeeded_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QByteArray>("tier");
    QTest::newRow("device") << "memory.vram_limit" << QByteArray("device memory is too small");
    QTest::newRow("host") << "memory.ram_limit" << QByteArray("host memory is too small");
  }
  void tooSmallSaysHowMuchIsNeeded() {
    QFETCH(QString, key);
    QFETCH(QByteArray, tier);
    const auto plan = [&](qint64 limit) {
      return runProgram({"plan", m_project, "--json", "--set", QString("%1=%2").arg(key).arg(limit)});
    };
    const Outcome small = plan(20000);
    QCOMPARE(small.code, 3);
    QVERIFY2(isOneError(small, {tier, key.toUtf8()}), small.error.constData());
    QCOMPARE(small.object()["verdict"].toString(), "does_not_fit");
    QVERIFY(small.object()["shortfall"].toString().contains(QString::fromUtf8(tier)));
    const qint64 needed = bytesNamed(small.error);
    QVERIFY(needed > 20000);
    const Outcome enough = plan(needed);
    QVERIFY2(enough.code == 0, enough.error.constData());
    QCOMPARE(plan(needed - 1).code, 3); // not a byte too much was asked for
  }

  void refuses_data() {
    QTest::addColumn<QString>("setting");
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("unknown key") << "training.step=5" << QByteArray("training.steps");
    QTest::newRow("no value") << "training.steps" << QByteArray("training.steps");
    QTest::newRow("a GPU that this build cannot use") << "training.device=cuda:0" << QByteArray("cuda:0");
    QTest::newRow("beyond counting") << "training.context=9000000000000000" << QByteArray("context");
    QTest::newRow("a model that is none") << "model.config.num_attention_heads=5" << QByteArray("num_attention_heads");
  }
  void refuses() {
    QFETCH(QString, setting);
    QFETCH(QByteArray, word);
    const Outcome outcome = runProgram({"plan", m_project, "--set", setting});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {word}), outcome.error.constData());
    QVERIFY(outcome.out.isEmpty());
  }

  void hardwareAsJson() {
    const Outcome outcome = runProgram({"hw", "--json", m_folder->path()});
    QCOMPARE(outcome.code, 0);
    const QJsonObject machine = outcome.object();
    QVERIFY(machine["cpu"]["usable_cores"].toInt() >= 1);
    QVERIFY(machine["memory"]["total"].toInteger() >= machine["memory"]["usable"].toInteger());
    QCOMPARE(machine["disks"].toArray().size(), 1);
    QCOMPARE(machine["disks"][0]["folder"].toString(), m_folder->path());
    QVERIFY(machine["notices"].isArray());
    QVERIFY(runProgram({"hw"}).out.contains("memory usable"));
  }

 private:
  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_project;
};

QTEST_GUILESS_MAIN(TestPlanCommand)
#include "test_plan_command.moc"

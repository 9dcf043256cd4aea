#include "app/program.h"

#include <QDir>

using namespace millrace::test;

namespace {

QString copyCase(const QTemporaryDir& folder, const QString& name) {
  const QString copy = folder.filePath(name);
  QDir().mkpath(copy);
  const QDir original(QStringLiteral(MILLRACE_TEST_DATA "/") + name);
  for (const QString& file : original.entryList(QDir::Files))
    if (!QFile::copy(original.filePath(file), copy + "/" + file)) qFatal("cannot copy %s", qPrintable(file));
  return copy;
}

} // namespace

class TestCheckCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void aGoodCasePasses() {
    const QString folder = QStringLiteral(MILLRACE_TEST_DATA "/llama_mha_tied");
    const Outcome outcome = runProgram({"check", "golden", folder, "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QVERIFY(outcome.object()["passed"].toBool());
    const QJsonArray results = outcome.object()["results"].toArray();
    QCOMPARE(results.size(), 8); // three recompute policies and all on the device, one and several micro-batches
    QSet<QString> settings;
    for (const QJsonValue& result : results) {
      settings.insert(result["recompute"].toString() + " " + result["place"].toString() +
                      (result["several_micro_batches"].toBool() ? " several" : " one"));
      QVERIFY(result["device_limit"].toInteger() > 0);
      QVERIFY(result["comparisons"].toArray().size() > 50);
      for (const QJsonValue& comparison : result["comparisons"].toArray()) {
        QVERIFY(comparison["passed"].toBool());
        QVERIFY(comparison["error"].toDouble() <= comparison["bound"].toDouble());
      }
    }
    QCOMPARE(settings.size(), 8);
  }

  void aChangedExpectationFails() {
    QTemporaryDir temporary;
    const QString folder = copyCase(temporary, "llama_mha_tied");
    QJsonObject expected = QJsonDocument::fromJson(readFile(folder + "/expected.json")).object();
    expected["loss_after"] = expected["loss_after"].toDouble() * 1.001;
    writeFile(folder + "/expected.json", QJsonDocument(expected).toJson());
    const Outcome outcome = runProgram({"check", "golden", folder});
    QCOMPARE(outcome.code, 1);
    QVERIFY2(isOneError(outcome, {"8 of 8"}), outcome.error.constData());
    QCOMPARE(outcome.out.count("FAILED loss after six steps: error "), 8);
    QCOMPARE(outcome.out.count("  FAILED "), 8); // and nothing else
  }

  void aCaseThatCannotBeReadIsBadInput_data() {
    QTest::addColumn<QString>("file");
    QTest::newRow("weights") << "model.safetensors";
    QTest::newRow("expectations") << "expected.json";
    QTest::newRow("config") << "config.json";
  }
  void aCaseThatCannotBeReadIsBadInput() {
    QFETCH(QString, file);
    QTemporaryDir temporary;
    const QString folder = copyCase(temporary, "llama_mha_tied");
    const QByteArray contents = readFile(folder + "/" + file);
    writeFile(folder + "/" + file, contents.left(contents.size() / 2));
    const Outcome outcome = runProgram({"check", "golden", folder});
    QVERIFY(outcome.finished);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {file.toUtf8()}), outcome.error.constData());
  }

  /// Beside cases of models lie expectations of other things; a model whose config is gone is told.
  void aFolderOfCases() {
    QTemporaryDir temporary;
    copyCase(temporary, "llama_mha_tied");
    QVERIFY(QDir(temporary.path()).mkdir("rope"));
    writeFile(temporary.filePath("rope/expected.json"), "{}");
    const Outcome good = runProgram({"check", "golden", temporary.path()});
    QVERIFY2(good.code == 0, good.error.constData());
    QVERIFY(good.out.contains("8 of 8 passed"));
    writeFile(temporary.filePath("rope/model.safetensors"), "{}");
    const Outcome bad = runProgram({"check", "golden", temporary.path()});
    QCOMPARE(bad.code, 1);
    QVERIFY2(bad.out.contains("rope: REFUSED") && bad.error.contains("1 of 2 cases were refused"),
             bad.error.constData());
  }

  void checkpointsAreReadWhole() {
    QTemporaryDir folder;
    const QString run = folder.filePath("run");
    const QString project = writeTinyProject(folder.path(), "tiny", 6);
    const Outcome trained =
        runProgram({"train", project, "--run-dir", run, "--set", "checkpoint.every=3", "checkpoint.keep=2"});
    QVERIFY2(trained.code == 0, trained.error.constData());

    const Outcome good = runProgram({"check", "checkpoint", run, "--json"});
    QVERIFY2(good.code == 0, good.error.constData());
    const QJsonArray checkpoints = good.object()["checkpoints"].toArray();
    QCOMPARE(checkpoints.size(), 2);
    QCOMPARE(checkpoints[0]["step"].toInt(), 3);
    QCOMPARE(checkpoints[1]["step"].toInt(), 6);

    const QString last = checkpoints[1]["path"].toString();
    const QStringList shards = QDir(last).entryList({"*.safetensors"}, QDir::Files);
    QVERIFY(!shards.isEmpty());
    QByteArray bytes = readFile(last + "/" + shards.first());
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    writeFile(last + "/" + shards.first(), bytes);
    const Outcome one = runProgram({"check", "checkpoint", last});
    QCOMPARE(one.code, 2);
    QVERIFY2(isOneError(one, {shards.first().toUtf8()}), one.error.constData());
    const Outcome both = runProgram({"check", "checkpoint", run});
    QCOMPARE(both.code, 2);
    QVERIFY(both.out.contains(": good, step 3") && both.out.contains("DAMAGED"));
    QVERIFY2(isOneError(both, {"1 of 2"}), both.error.constData());
  }
};

QTEST_GUILESS_MAIN(TestCheckCommand)
#include "test_check_command.moc"

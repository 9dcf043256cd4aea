#include "app/run_files.h"

using namespace millrace::test;

/// Training where the system lacks something: no network at all, and a small disk that is full. Both are made with
/// Linux namespaces, which need no rights where the system lets users have them.
class TestNamespaces : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    QVERIFY(m_folder->isValid());
  }

  void quickstartWithoutNetwork() {
    if (!allowed("-rn")) QSKIP("this system gives its users no network namespaces");
    const QString project = QString(MILLRACE_SOURCE_DIR) + "/projects/quickstart.json";
    const QJsonObject contents = QJsonDocument::fromJson(readFile(project)).object();
    const QString text = contents["data"].toObject()["sources"].toObject()["path"].toArray().first().toString();
    QVERIFY2(QFile::exists(text), qPrintable(text + ": install the package that packaging/dependencies names"));
    const QString run = m_folder->filePath("run");
    Child child({"-rn", MILLRACE_PROGRAM, "train", project, "--run-dir", run, "--json", "--set", "training.steps=3",
                 "--set", "evaluation.rows=4", "--set", "samples.tokens=8", "--set", "data.cache=" + run + "-cache"},
                {}, "unshare");
    QVERIFY(child.start());
    const Outcome outcome = child.wait();
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QCOMPARE(figures(run).size(), 3);
    QVERIFY(!newestCheckpoint(run).isEmpty());
  }

  void aFullDiskPausesAndGoesOn() {
    if (!allowed("-rm")) QSKIP("this system gives its users no mount namespaces");
    const QString project = writeTinyProject(m_folder->path(), "goose", 60);
    const QString whole = m_folder->filePath("whole"), copy = m_folder->filePath("copy"),
                  disk = m_folder->filePath("disk");
    QVERIFY(QDir().mkpath(disk));
    const QString slow = "training.micro_batches=40"; // the disk is full long before the run's end
    const Outcome untouched = runProgram({"train", project, "--run-dir", whole, "--set", slow});
    QVERIFY2(untouched.code == 0, untouched.error.constData());

    // A disk of 8 MiB with room for all, which is why the run begins; with its first step somebody else takes all of it
    // but 300 KiB, into which metrics fit, and no checkpoint. The disk lives as long as the shell does, so what is
    // compared is copied out of it.
    const QString script = "mount -t tmpfs -o size=8m disk \"$1\" || exit; "
                           "{ until [ -s \"$1/run/metrics.jsonl\" ]; do sleep 0.01; done; "
                           "head -c $(($(stat -f -c %a \"$1\") * 4096 - 307200)) /dev/zero > \"$1/ballast\"; } & "
                           "\"$2\" train \"$3\" --run-dir \"$1/run\" --json --set \"$5\" && cp -r \"$1/run\" \"$4\"";
    Child child({"-rm", "sh", "-c", script, "sh", disk, MILLRACE_PROGRAM, project, copy, slow}, {}, "unshare");
    QVERIFY(child.start());
    QVERIFY2(child.waitForOutput("\"kind\":\"disk-full\""), child.output().constData());
    QVERIFY2(child.waitForOutput("\"state\":\"paused\""), child.output().constData());
    QVERIFY2(child.output().contains("is free"), child.output().constData()); // and how much is needed
    const QString ballast = QString("/proc/%1/root%2/ballast").arg(child.process().processId()).arg(disk);
    QVERIFY2(QFile::remove(ballast), qPrintable(ballast));
    const Outcome outcome = child.wait();
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    compareRuns(copy, whole);
    QCOMPARE(runProgram({"check", "checkpoint", copy}).code, 0);
  }

 private:
  static bool allowed(const QString& what) {
    QProcess process;
    process.start("unshare", {what, "true"});
    return process.waitForFinished(patienceMs) && process.exitStatus() == QProcess::NormalExit &&
           process.exitCode() == 0;
  }

  std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestNamespaces)
#include "test_namespaces.moc"

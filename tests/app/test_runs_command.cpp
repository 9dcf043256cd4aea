#include "app/program.h"
#include "app/run_files.h"

using namespace millrace::test;

namespace {

QList<QJsonObject> events(const Outcome& outcome) {
  QList<QJsonObject> all;
  for (const QByteArray& line : outcome.lines()) all.append(QJsonDocument::fromJson(line).object());
  return all;
}

QList<int> steps(const QList<QJsonObject>& events) {
  QList<int> all;
  for (const QJsonObject& event : events)
    if (event["event"].toString() == "step") all.append(event["step"].toInt());
  return all;
}

QList<int> range(int first, int last) {
  QList<int> all;
  for (int i = first; i <= last; ++i) all.append(i);
  return all;
}

} // namespace

/// Watching, steering and listing runs, those of this test's own making.
class TestRunsCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_runs = m_folder->filePath("runs");
    m_run = m_runs + "/goose";
  }

  void aFinishedRunIsListedAndWatched() {
    const QString project = writeTinyProject(m_folder->path(), "goose", 8);
    const QStringList environment{"MILLRACE_RUNS=" + m_runs};
    const Outcome trained = runProgram({"train", project, "--resume-or-start", "--json"}, {}, environment);
    QVERIFY2(trained.code == 0, trained.error.constData());
    QCOMPARE(steps(events(trained)), range(1, 8));

    const Outcome list = runProgram({"runs", "list", "--json"}, {}, environment);
    QCOMPARE(list.array().size(), 1);
    const QJsonObject row = list.array()[0].toObject();
    QCOMPARE(row["path"].toString(), m_run);
    QCOMPARE(row["outcome"].toString(), "finished");
    QCOMPARE(row["step"].toInt(), 8);
    QCOMPARE(row["total_steps"].toInt(), 8);
    QVERIFY(runProgram({"runs", "list", m_runs}).out.contains("step 8/8"));

    const Outcome watched = runProgram({"watch", m_run, "--json"});
    QCOMPARE(watched.code, 0);
    QCOMPARE(steps(events(watched)), range(1, 8));
    QCOMPARE(steps(events(runProgram({"watch", m_run, "--json", "--from-step", "6"}))), range(6, 8));
    const Outcome text = runProgram({"watch", m_run});
    QCOMPARE(text.code, 0);
    QVERIFY2(text.out.endsWith("finished\n"), text.out.constData());

    for (const char* request : {"pause", "resume", "checkpoint", "stop"}) {
      const Outcome dead = runProgram({"ctl", m_run, request});
      QCOMPARE(dead.code, 2);
      QVERIFY2(isOneError(dead, {m_run.toUtf8(), "no process", "finished"}), dead.error.constData());
    }
    const Outcome status = runProgram({"ctl", m_run, "status", "--json"});
    QCOMPARE(status.code, 0);
    QCOMPARE(status.object()["outcome"].toString(), "finished");
    QCOMPARE(status.object()["step"].toInt(), 8);
  }

  void anEmptyFolderHasNoRuns() {
    const Outcome list = runProgram({"runs", "list", "--json"}, {}, {"MILLRACE_RUNS=" + m_runs});
    QCOMPARE(list.code, 0);
    QCOMPARE(list.out, QByteArray("[]\n"));
  }

  void runsAreComparedAndTidiedUp() {
    const QString project = writeTinyProject(m_folder->path(), "goose", 6);
    const QString other = m_runs + "/swan";
    const auto train = [&](const QString& run, const QStringList& more) {
      const Outcome trained = runProgram(QStringList{"train", project, "--run-dir", run, "--json"} + more);
      QVERIFY2(trained.code == 0, trained.error.constData());
    };
    train(m_run, {"--set", "checkpoint.every=2", "checkpoint.keep=3"});
    train(other, {"--set", "training.learning_rate=0.002", "training.micro_batches=4", "checkpoint.every=2",
                  "checkpoint.keep=3"});

    const Outcome compared = runProgram({"runs", "compare", m_run, other, "--json"});
    QVERIFY2(compared.code == 0, compared.error.constData());
    const QJsonObject json = compared.object();
    QVERIFY2(json["comparable"].toBool(), compared.out.constData());
    QCOMPARE(json["runs"].toArray().size(), 2);
    QCOMPARE(json["runs"].toArray()[1].toObject()["steps"].toInt(), 6);
    QVERIFY(json["runs"].toArray()[0].toObject()["validation"].toObject()["loss"].toDouble() > 0);
    QStringList keys;
    for (const QJsonValue setting : json["settings"].toArray()) keys << setting.toObject()["key"].toString();
    QCOMPARE(keys, (QStringList{"training.micro_batches", "training.learning_rate"}));
    const QJsonObject losses = json["losses"].toObject();
    QCOMPARE(losses["by_steps"].toArray().size(), 6);
    // Half as many tokens a step: the tokens of the first end in the middle of the second.
    QCOMPARE(losses["by_tokens"].toArray().last().toObject()["at"].toDouble(), 6.0 * 2 * 2 * 32);
    const Outcome text = runProgram({"runs", "compare", m_run, other});
    QVERIFY2(text.out.contains("training.learning_rate") && text.out.contains("0.002"), text.out.constData());

    const QString file = newestCheckpoint(other);
    const Outcome deleted = runProgram({"runs", "delete-checkpoints", other, "--keep", "newest", "--json"});
    QVERIFY2(deleted.code == 0, deleted.error.constData());
    QCOMPARE(deleted.object()["kept"].toArray(), QJsonArray{6});
    QCOMPARE(deleted.object()["deleted"].toArray(), (QJsonArray{2, 4}));
    QVERIFY(deleted.object()["bytes_freed"].toInt() > 100'000);
    QCOMPARE(newestCheckpoint(other), file);
    const Outcome rest = runProgram({"runs", "delete-checkpoints", other});
    QCOMPARE(rest.code, 0);
    QVERIFY2(rest.out.contains("1 of 1 checkpoints deleted"), rest.out.constData());
    QVERIFY(newestCheckpoint(other).isEmpty());
    QCOMPARE(steps(events(runProgram({"watch", other, "--json"}))), range(1, 6)); // all of it but those
  }

  void aLiveRunIsSteered() {
    const QString project = writeTinyProject(m_folder->path(), "goose", 1'000'000);
    Child run({"train", project, "--run-dir", m_run, "--json"});
    QVERIFY(run.start());
    QVERIFY(run.waitForOutput("\"event\":\"step\""));
    QCOMPARE(status()["outcome"].toString(), "live");

    QCOMPARE(ctl("pause").code, 0);
    QVERIFY(run.waitForOutput("\"state\":\"paused\""));
    QCOMPARE(status()["state"].toString(), "paused");
    const int paused = status()["step"].toInt();
    QCOMPARE(ctl("checkpoint").code, 0);
    QVERIFY(run.waitForOutput("\"event\":\"checkpoint\""));
    QCOMPARE(status()["step"].toInt(), paused);
    QCOMPARE(ctl("resume").code, 0);
    QVERIFY(run.waitForOutput("\"step\":" + QByteArray::number(paused + 2) + ","));

    const Outcome second = runProgram({"resume", m_run});
    QCOMPARE(second.code, 2);
    QVERIFY2(isOneError(second, {"live"}), second.error.constData());
    const Outcome kept = runProgram({"runs", "delete-checkpoints", m_run});
    QCOMPARE(kept.code, 2);
    QVERIFY2(isOneError(kept, {"live"}), kept.error.constData());
    QVERIFY(!newestCheckpoint(m_run).isEmpty());
    QCOMPARE(ctl("stop").code, 0);
    const Outcome ended = run.wait();
    QVERIFY(ended.finished);
    QCOMPARE(ended.code, 4);
    const Outcome dead = ctl("stop");
    QCOMPARE(dead.code, 2);
    QVERIFY2(isOneError(dead, {"interrupted", "millrace resume"}), dead.error.constData());
  }

  void watchOutlivesAKilledRun() {
    const QString project = writeTinyProject(m_folder->path(), "goose", 60);
    auto run = std::make_unique<Child>(
        QStringList{"train", project, "--run-dir", m_run, "--json", "--set", "checkpoint.every=10"});
    QVERIFY(run->start());
    QVERIFY(run->waitForOutput("\"event\":\"step\""));
    Child watch({"watch", m_run, "--json", "--wait", "200"});
    QVERIFY(watch.start());
    QVERIFY(watch.waitForOutput("\"event\":\"checkpoint\""));
    run->signal(SIGKILL);
    QVERIFY(!run->wait().finished);
    const Outcome resumed = runProgram({"resume", m_run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    const Outcome watched = watch.wait();
    QCOMPARE(watched.code, 0);
    // Every step was told; those after the checkpoint perhaps twice, none out of its turn.
    const QList<int> told = steps(events(watched));
    QCOMPARE(QSet<int>(told.begin(), told.end()).size(), 60);
    QCOMPARE(told.first(), 1);
    QCOMPARE(told.last(), 60);
    for (qsizetype i = 1; i < told.size(); ++i) QVERIFY(told[i] <= told[i - 1] + 1);
  }

  void watchEndsWhenAKilledRunStaysDead() {
    const QString project = writeTinyProject(m_folder->path(), "goose", 1'000'000);
    auto run = std::make_unique<Child>(QStringList{"train", project, "--run-dir", m_run, "--json"});
    QVERIFY(run->start());
    QVERIFY(run->waitForOutput("\"event\":\"step\""));
    Child watch({"watch", m_run, "--wait", "0.5"});
    QVERIFY(watch.start());
    QVERIFY(watch.waitForOutput("step "));
    run->signal(SIGKILL);
    const Outcome watched = watch.wait();
    QCOMPARE(watched.code, 0);
    QVERIFY2(watched.out.contains("interrupted: "), watched.out.constData());
  }

 private:
  Outcome ctl(const QString& request) { return runProgram({"ctl", m_run, request}); }
  QJsonObject status() { return runProgram({"ctl", m_run, "status", "--json"}).object(); }

  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_runs;
  QString m_run;
};

QTEST_GUILESS_MAIN(TestRunsCommand)
#include "test_runs_command.moc"

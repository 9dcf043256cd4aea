#include "app/program.h"

using namespace millrace::test;

class TestUsage : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void helpHasAnExample_data() {
    QTest::addColumn<QStringList>("command");
    for (const char* command : {"train",
                                "resume",
                                "watch",
                                "ctl",
                                "runs list",
                                "runs compare",
                                "runs delete-checkpoints",
                                "plan",
                                "hw",
                                "tokenizer train",
                                "tokenizer encode",
                                "tokenizer decode",
                                "tokenizer chat",
                                "check golden",
                                "check checkpoint",
                                "generate",
                                "eval",
                                "export",
                                "bench step",
                                "bench machine",
                                "bench nvme",
                                "bench optimizer",
                                "bench copy"})
      QTest::newRow(command) << QString(command).split(' ');
  }
  void helpHasAnExample() {
    QFETCH(QStringList, command);
    const Outcome outcome = runProgram(command + QStringList{"--help"});
    QCOMPARE(outcome.code, 0);
    QVERIFY(outcome.error.isEmpty());
    QVERIFY2(outcome.out.contains("Example:\n  "), outcome.out.constData());
    QVERIFY2(outcome.out.contains("millrace " + command.join(' ').toUtf8()), outcome.out.constData());
  }

  void helpOfTheProgramNamesItsCommands() {
    const Outcome outcome = runProgram({"--help"});
    QCOMPARE(outcome.code, 0);
    for (const char* word : {"train", "resume", "watch", "ctl", "runs", "plan", "hw", "tokenizer", "check", "generate",
                             "eval", "export", "bench"})
      QVERIFY2(outcome.out.contains(QByteArray("\n  ") + word + ' '), word);
  }

  void version() {
    const Outcome outcome = runProgram({"--version"});
    QCOMPARE(outcome.code, 0);
    QVERIFY(outcome.out.startsWith("millrace "));
  }

  void misuseIsOneLineAndExitTwo_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("word");
    const auto row = [](const char* name, const QStringList& arguments, const char* word) {
      QTest::newRow(name) << arguments << QByteArray(word);
    };
    row("nothing", {}, "--help");
    row("unknown command", {"tarin"}, "tarin");
    row("unknown option of the program", {"--fast"}, "--fast");
    row("unknown option of a command", {"train", "p.json", "--fast"}, "--fast");
    row("unknown option of a nested command", {"tokenizer", "encode", "--tokenizer", "t.json", "--fast"}, "--fast");
    row("no project", {"train"}, "PROJECT");
    row("missing value", {"train", "p.json", "--run-dir"}, "--run-dir");
    row("unknown request", {"ctl", "somewhere", "explode"}, "explode");
    row("not a number", {"watch", "somewhere", "--from-step", "ten"}, "ten");
    row("group without a command", {"check"}, "check --help");
    row("too many arguments", {"resume", "a", "b"}, "b");
    row("missing project", {"train", "/nowhere/p.json"}, "/nowhere/p.json");
    row("missing project of plan", {"plan", "/nowhere/p.json"}, "/nowhere/p.json");
    row("missing run to resume", {"resume", "/nowhere/run"}, "/nowhere/run");
    row("missing run to watch", {"watch", "/nowhere/run"}, "/nowhere/run");
    row("missing run to steer", {"ctl", "/nowhere/run", "stop"}, "/nowhere/run");
    row("missing run to ask", {"ctl", "/nowhere/run", "status"}, "/nowhere/run");
    row("missing folder of runs", {"runs", "list", "/nowhere/runs"}, "/nowhere/runs");
    row("one run to compare", {"runs", "compare", "/nowhere/a"}, "two runs");
    row("missing run to compare", {"runs", "compare", "/nowhere/a", "/nowhere/b"}, "/nowhere/a");
    row("missing run to tidy up", {"runs", "delete-checkpoints", "/nowhere/a"}, "/nowhere/a");
    row("unknown checkpoint to keep", {"runs", "delete-checkpoints", "/nowhere/a", "--keep", "worst"}, "worst");
    row("missing tokenizer", {"tokenizer", "encode", "--tokenizer", "/nowhere/t.json"}, "/nowhere/t.json");
    row("missing data",
        {"tokenizer", "train", "--data", "/nowhere/a.txt", "--vocabulary", "300", "--out", "/nowhere/t.json"},
        "/nowhere/a.txt");
    row("missing golden cases", {"check", "golden", "/nowhere/golden"}, "/nowhere/golden");
    row("no such drive", {"bench", "nvme", "--dir", "/nowhere/disk"}, "/nowhere/disk");
    row("no such disk", {"bench", "machine", "--disk", "/nowhere/disk"}, "/nowhere/disk");
    row("missing checkpoint", {"check", "checkpoint", "/nowhere/checkpoint"}, "/nowhere/checkpoint");
  }
  void misuseIsOneLineAndExitTwo() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, word);
    const Outcome outcome = runProgram(arguments);
    QVERIFY(outcome.finished);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {word}), outcome.error.constData());
    QVERIFY2(outcome.out.isEmpty(), outcome.out.constData());
  }

  /// Names of files and tensors are strangers' text: they change nothing of the terminal, nor which way the line runs.
  void namesLeaveTheTerminalAlone() {
    const QString name = QStringLiteral("/nowhere/\u202Etxt.\u2066a\u001B[31m\u009B1mz");
    const Outcome outcome = runProgram({"eval", name});
    QCOMPARE(outcome.code, 2);
    const QString shown = QString::fromUtf8(outcome.error);
    QVERIFY2(shown.contains(QStringLiteral("/nowhere/\uFFFDtxt.\uFFFDa\uFFFD[31m\uFFFD1mz")), qPrintable(shown));
  }

  void settingsMayFollowTheProject() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "tiny", 10);
    for (const QStringList& arguments :
         {QStringList{"plan", "--json", project, "--set", "training.micro_batch=3", "training.context=16"},
          QStringList{"plan", "--set", "training.micro_batch=3", project, "--set", "training.context=16", "--json"}}) {
      const Outcome outcome = runProgram(arguments);
      QVERIFY2(outcome.code == 0, outcome.error.constData());
      QCOMPARE(outcome.object()["tokens_per_step"].toInt(), 2 * 3 * 16);
    }
  }

  void aFullDiskIsNotSuccess() {
    QProcess process;
    process.setStandardOutputFile("/dev/full");
    process.start(MILLRACE_PROGRAM, {"--help"});
    QVERIFY(process.waitForFinished(patienceMs));
    QCOMPARE(process.exitCode(), 1);
    QVERIFY(process.readAllStandardError().contains("standard output"));
  }
};

QTEST_GUILESS_MAIN(TestUsage)
#include "test_usage.moc"

// millrace hw: this machine, machines by name and by file, saving.
#include "app/program.h"

#include <QDir>

using namespace millrace::test;

class TestHwCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }

  void shippedMachineAsTableAndAsJson() {
    const Outcome table = runProgram({"hw", "--machine", "2x-rtx-4090"});
    QCOMPARE(table.code, 0);
    for (const char* part : {"Two RTX 4090", "GPU 1", "150.0 TFLOP/s (assumed", "VRAM for runs, GPU 1", "RAM for runs"})
      QVERIFY2(table.out.contains(part), part);
    const QJsonObject machine = runProgram({"hw", "--machine", "2x-rtx-4090", "--json"}).object();
    QCOMPARE(machine["gpus"].toArray().size(), 2);
    QCOMPARE(machine["notices"].toArray().size(), 0); // it is no card of this machine
    QVERIFY(machine["budgets"].toObject()["vram"].toArray().size() == 2);
  }

  void thisMachineSavedAndRead() {
    const QString file = m_folder->filePath("own.json");
    const Outcome shown = runProgram({"hw", "--json", "--save", file, m_folder->path()});
    QCOMPARE(shown.code, 0);
    const Outcome read = runProgram({"hw", "--json", "--machine", file});
    QCOMPARE(read.code, 0);
    for (const char* key : {"format", "name", "host", "kernel", "cpu", "memory", "disks", "gpus", "unknown"})
      QVERIFY2(shown.object()[key] == read.object()[key], key);
    // What is printed is such a file too.
    QFile copy(m_folder->filePath("printed.json"));
    QVERIFY(copy.open(QIODevice::WriteOnly) && copy.write(shown.out) == shown.out.size());
    copy.close();
    QCOMPARE(runProgram({"hw", "--json", "--machine", copy.fileName()}).object(), read.object());
  }

  void aFileThatIsThereIsReplacedOnRequest() {
    const QString file = m_folder->filePath("own.json");
    QCOMPARE(runProgram({"hw", "--save", file, "--machine", "h200"}).code, 0);
    const QByteArray before = readFile(file);
    const Outcome refused = runProgram({"hw", "--save", file});
    QCOMPARE(refused.code, 2);
    QVERIFY2(isOneError(refused, {"own.json", "--force"}), refused.error.constData());
    QCOMPARE(readFile(file), before);
    QCOMPARE(runProgram({"hw", "--save", file, "--force"}).code, 0);
    QVERIFY(readFile(file) != before);
  }

  void refuses_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("words");
    QTest::newRow("unknown machine") << QStringList{"--machine", "rtx-4900"} << QByteArray("did you mean rtx-4090?");
    QTest::newRow("no machine") << QStringList{"--machine", ""} << QByteArray("--machine: is empty");
    QTest::newRow("no such file") << QStringList{"--machine", "none.json"} << QByteArray("none.json");
    QTest::newRow("another kind of file")
        << QStringList{"--machine", "project.json"} << QByteArray("project.json: name is missing");
    QTest::newRow("over another kind of file")
        << QStringList{"--save", "project.json"} << QByteArray("is not a machine file");
    QTest::newRow("folders of another machine")
        << QStringList{"--machine", "h200", "folder"} << QByteArray("--machine");
  }
  void refuses() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, words);
    QFile project(m_folder->filePath("project.json"));
    QVERIFY(project.open(QIODevice::WriteOnly));
    const qint64 written = project.write("{\"format\": 1, \"model\": {}}");
    project.close();
    for (QString& argument : arguments)
      if (argument.endsWith(".json")) argument = m_folder->filePath(argument);
    const Outcome outcome = runProgram(QStringList{"hw"} + arguments);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.error.contains(words), outcome.error.constData());
    QVERIFY(outcome.out.isEmpty());
    QCOMPARE(project.size(), written);
  }

  void namesOfOthersCannotSteerTheTerminal() {
    const QString file = m_folder->filePath("hostile.json");
    QFile machine(file);
    QVERIFY(machine.open(QIODevice::WriteOnly));
    machine.write("{\"format\": 1, \"name\": \"a\\u001b[2J\", \"memory\": {\"total\": \"8GiB\"}}");
    machine.close();
    const Outcome outcome = runProgram({"hw", "--machine", file});
    QCOMPARE(outcome.code, 0);
    QVERIFY(!outcome.out.contains('\x1b') && outcome.out.contains("8.00 GiB"));
  }

 private:
  std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestHwCommand)
#include "test_hw_command.moc"

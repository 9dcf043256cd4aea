#include "app/program.h"

using namespace millrace::test;

namespace {

const QString goldenTokenizers = QStringLiteral(MILLRACE_TEST_DATA "/tokenizers");

QByteArray jsonString(const QJsonValue& text) {
  const QByteArray list = QJsonDocument(QJsonArray{text}).toJson(QJsonDocument::Compact);
  return list.mid(1, list.size() - 2);
}

} // namespace

class TestTokenizerCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void encodesAsTheReferenceDoes_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"gpt2", "qwen2", "llama3", "llama2", "metaspace", "digits"}) QTest::newRow(name) << name;
  }
  void encodesAsTheReferenceDoes() {
    QFETCH(QString, name);
    const QString folder = goldenTokenizers + "/" + name;
    const QJsonArray cases = QJsonDocument::fromJson(readFile(folder + "/cases.json")).array();
    QVERIFY(cases.size() > 10);
    for (const bool special : {false, true}) {
      QByteArray input;
      for (const QJsonValue& entry : cases) input += jsonString(entry["text"]) + "\n";
      QStringList arguments{"tokenizer", "encode", "--tokenizer", folder + "/tokenizer.json", "--jsonl"};
      if (special) arguments << "--special";
      const Outcome outcome = runProgram(arguments, input);
      QVERIFY2(outcome.code == 0, outcome.error.constData());
      const QList<QByteArray> lines = outcome.lines();
      QCOMPARE(lines.size(), cases.size());
      for (qsizetype i = 0; i < lines.size(); ++i)
        QCOMPARE(QJsonDocument::fromJson(lines[i]).object()["ids"].toArray(),
                 cases[i].toObject()[special ? "ids" : "ids_no_special"].toArray());
    }
  }

  void decodesWhatItEncoded() {
    const QString tokenizer = goldenTokenizers + "/gpt2/tokenizer.json";
    const QByteArray text = "Caf\xC3\xA9, 3 + 4 = 7\n\n\tand so on \xF0\x9F\x8C\x8A";
    const Outcome ids = runProgram({"tokenizer", "encode", "--tokenizer", tokenizer}, text);
    QCOMPARE(ids.code, 0);
    QCOMPARE(ids.lines().size(), 1);
    QCOMPARE(runProgram({"tokenizer", "decode", "--tokenizer", tokenizer}, ids.out).out, text);
    const QByteArray line = jsonString(QString::fromUtf8(text)) + "\n";
    const Outcome encoded = runProgram({"tokenizer", "encode", "--tokenizer", tokenizer, "--jsonl"}, line);
    const Outcome decoded = runProgram({"tokenizer", "decode", "--tokenizer", tokenizer, "--jsonl"}, encoded.out);
    QCOMPARE(QJsonDocument::fromJson("[" + decoded.out + "]").array()[0].toString(), QString::fromUtf8(text));
  }

  void aBadLineIsNamed_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<QByteArray>("bad");
    QTest::newRow("not JSON") << "encode" << QByteArray("hello");
    QTest::newRow("a number") << "encode" << QByteArray("7");
    QTest::newRow("an object") << "encode" << QByteArray("{\"text\":\"a\"}");
    QTest::newRow("cut off") << "encode" << QByteArray("\"abc");
    QTest::newRow("empty") << "encode" << QByteArray("");
    QTest::newRow("not UTF-8") << "encode" << QByteArray("\"\xFF\xFE\"");
    QTest::newRow("a text") << "decode" << QByteArray("\"abc\"");
    QTest::newRow("a text among the ids") << "decode" << QByteArray("{\"ids\":[1,\"2\"]}");
    QTest::newRow("negative") << "decode" << QByteArray("{\"ids\":[-1]}");
    QTest::newRow("no token") << "decode" << QByteArray("{\"ids\":[123456789]}");
    QTest::newRow("beyond 32 bits") << "decode" << QByteArray("[99999999999999999999]");
  }
  void aBadLineIsNamed() {
    QFETCH(QString, command);
    QFETCH(QByteArray, bad);
    const QByteArray good = command == "encode" ? "\"fine\"\n" : "{\"ids\":[1,2]}\n";
    const Outcome outcome =
        runProgram({"tokenizer", command, "--tokenizer", goldenTokenizers + "/gpt2/tokenizer.json", "--jsonl"},
                   good + good + bad + "\n" + good);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"line 3"}), outcome.error.constData());
    QCOMPARE(outcome.lines().size(), 2);
  }

  void answersBeforeItWaitsForMore() {
    Child child({"tokenizer", "encode", "--tokenizer", goldenTokenizers + "/gpt2/tokenizer.json", "--jsonl"});
    QVERIFY(child.start());
    for (int i = 1; i <= 3; ++i) {
      child.process().write("\"one\"\n");
      QVERIFY(child.process().waitForReadyRead(patienceMs));
      QVERIFY(child.process().readAllStandardOutput().contains("{\"ids\":["));
    }
    child.process().closeWriteChannel();
    QCOMPARE(child.wait().code, 0);
  }

  void aClosedReaderEndsIt() {
    Child child({"tokenizer", "encode", "--tokenizer", goldenTokenizers + "/gpt2/tokenizer.json", "--jsonl"});
    QVERIFY(child.start());
    child.process().closeReadChannel(QProcess::StandardOutput);
    for (int i = 0; i < 2000; ++i) child.process().write("\"some words of a line that is not short\"\n");
    child.process().closeWriteChannel();
    const Outcome outcome = child.wait();
    QVERIFY(outcome.finished); // not killed by SIGPIPE
    QCOMPARE(outcome.code, 0);
    QVERIFY(outcome.error.isEmpty());
  }

  void trainsOnFiles() {
    QTemporaryDir folder;
    QByteArray text, lines;
    for (int i = 0; i < 300; ++i) {
      text += "the water and the weather " + QByteArray::number(i) + "\n%\n";
      lines += "{\"body\":\"the mill and the miller\"}\n";
    }
    writeFile(folder.filePath("plain"), text);
    writeFile(folder.filePath("rows.jsonl"), lines);
    const QString out = folder.filePath("tokenizer.json");
    const QStringList arguments{"tokenizer",
                                "train",
                                "--data",
                                folder.filePath("plain"),
                                folder.filePath("rows.jsonl"),
                                "--vocabulary",
                                "280",
                                "--out",
                                out,
                                "--separator",
                                "%",
                                "--text-field",
                                "body",
                                "--json"};
    const Outcome outcome = runProgram(arguments);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QCOMPARE(outcome.object()["vocabulary"].toInt(), 280);
    QCOMPARE(outcome.object()["file"].toString(), out);
    const QByteArray first = readFile(out);
    QCOMPARE(runProgram(arguments).code, 0);
    QCOMPARE(readFile(out), first); // the same text, the same tokenizer
    const QByteArray word = " and the miller";
    const Outcome ids = runProgram({"tokenizer", "encode", "--tokenizer", out}, word);
    QCOMPARE(ids.code, 0);
    QVERIFY(ids.out.split(' ').size() < word.size()); // it has learnt something
    QCOMPARE(runProgram({"tokenizer", "decode", "--tokenizer", out}, ids.out).out, word);
  }

  void badTrainingLeavesNoFile_data() {
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("vocabulary");
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("unknown field") << "text"
                                   << "280" << QByteArray("text");
    QTest::newRow("vocabulary without room") << "body"
                                             << "100" << QByteArray("257");
  }
  void badTrainingLeavesNoFile() {
    QFETCH(QString, field);
    QFETCH(QString, vocabulary);
    QFETCH(QByteArray, word);
    QTemporaryDir folder;
    writeFile(folder.filePath("rows.jsonl"), "{\"body\":\"the mill and the miller\"}\n");
    const QString out = folder.filePath("tokenizer.json");
    const Outcome outcome = runProgram({"tokenizer", "train", "--data", folder.filePath("rows.jsonl"), "--vocabulary",
                                        vocabulary, "--out", out, "--text-field", field});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.error.contains(word), outcome.error.constData());
    QVERIFY(!QFile::exists(out));
  }
};

QTEST_GUILESS_MAIN(TestTokenizerCommand)
#include "test_tokenizer_command.moc"

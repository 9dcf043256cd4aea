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

  void rendersChatsAsTheReferenceDoes_data() {
    QTest::addColumn<QString>("name");
    for (const char* name :
         {"chatml", "chatml_default_system", "gemma", "llama2", "llama3", "namespace_macro", "tools"})
      QTest::newRow(name) << name;
  }
  void rendersChatsAsTheReferenceDoes() {
    QFETCH(QString, name);
    const QJsonObject golden =
        QJsonDocument::fromJson(readFile(QStringLiteral(MILLRACE_TEST_DATA "/chat_templates/") + name + ".json"))
            .object();
    const QJsonArray cases = golden["cases"].toArray();
    QVERIFY(cases.size() >= 10);
    QTemporaryDir folder;
    writeFile(folder.filePath("chat.jinja"), golden["template"].toString().toUtf8());
    QByteArray input;
    for (const QJsonValue& entry : cases)
      input += QJsonDocument(entry["input"].toObject()).toJson(QJsonDocument::Compact) + "\n";
    const Outcome outcome =
        runProgram({"tokenizer", "chat", "--template", folder.filePath("chat.jinja"), "--jsonl"}, input);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QList<QByteArray> lines = outcome.lines();
    QCOMPARE(lines.size(), cases.size());
    for (qsizetype i = 0; i < lines.size(); ++i) {
      QJsonObject expected = cases[i].toObject();
      expected.remove("input");
      QJsonObject got = QJsonDocument::fromJson(lines[i]).object();
      // Qt sorts the keys of objects, and tools are printed in their order.
      if (name == "tools" && cases[i]["input"].toObject().contains("tools")) {
        QCOMPARE(got.keys(), expected.keys());
        continue;
      }
      QCOMPARE(got, expected);
    }
  }

  void rendersWithAModelsTemplate() {
    QTemporaryDir folder;
    writeFile(folder.filePath("tokenizer_config.json"),
              "{\"bos_token\":\"<b>\",\"eos_token\":{\"content\":\"<e>\"},\"chat_template\":[{\"name\":\"default\","
              "\"template\":\"{{ bos_token }}{{ messages[0].content }}{{ eos_token }}\"},{\"name\":\"tool_use\","
              "\"template\":\"tools: {{ tools | tojson }}\"}]}");
    const QByteArray line =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi \u00e9\"}],\"tools\":[{\"b\":1,\"a\":2.0}]}\n";
    const Outcome plain = runProgram({"tokenizer", "chat", "--model", folder.path(), "--jsonl"}, line);
    QCOMPARE(plain.out, QByteArray("{\"rendered\":\"<b>Hi \xC3\xA9<e>\"}\n"));
    const Outcome tools =
        runProgram({"tokenizer", "chat", "--model", folder.path(), "--name", "tool_use", "--jsonl"}, line);
    QCOMPARE(tools.out, QByteArray("{\"rendered\":\"tools: [{\\\"b\\\": 1, \\\"a\\\": 2.0}]\"}\n"));
  }

  void tellsWhatAssistantsSay() {
    const Outcome outcome = runProgram({"tokenizer", "chat", "--built-in", "chatml", "--jsonl", "--ranges"},
                                       "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":"
                                       "\"assistant\",\"content\":\"\u00e9\"}]}\n");
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QByteArray text = outcome.object()["rendered"].toString().toUtf8();
    const QJsonArray range = outcome.object()["assistant"].toArray()[0].toArray();
    QCOMPARE(text.mid(range[0].toInt(), range[1].toInt() - range[0].toInt()), QByteArray("\xC3\xA9<|im_end|>"));
  }

  void everyChatLineIsAnswered() {
    const QByteArray good = "{\"messages\":[]}\n";
    const Outcome outcome = runProgram({"tokenizer", "chat", "--built-in", "chatml", "--jsonl"},
                                       good + "hello\n[1]\n\n{\"messages\":5}\n" + good);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QList<QByteArray> lines = outcome.lines();
    QCOMPARE(lines.size(), 6);
    for (const int i : {0, 5}) QCOMPARE(lines[i], QByteArray("{\"rendered\":\"\"}"));
    for (const int i : {1, 2, 3, 4}) QVERIFY2(lines[i].startsWith("{\"error\":\""), lines[i].constData());
    QVERIFY(lines[1].contains("line 2") && lines[2].contains("line 3"));
    QVERIFY2(lines[4].contains("TypeError: 'int' object is not iterable"), lines[4].constData());
  }

  void aBrokenTemplateIsNamed() {
    QTemporaryDir folder;
    writeFile(folder.filePath("broken.jinja"), "a\n{% if %}");
    const Outcome outcome =
        runProgram({"tokenizer", "chat", "--template", folder.filePath("broken.jinja"), "--jsonl"}, "{}\n{}\n");
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"broken.jinja", "line 2"}), outcome.error.constData());
    QCOMPARE(outcome.lines().size(), 2);
    QVERIFY(outcome.lines()[0].startsWith("{\"error\":\"TemplateSyntaxError: "));
  }

  void chatNeedsOneTemplate_data() {
    QTest::addColumn<QStringList>("options");
    QTest::newRow("none") << QStringList{};
    QTest::newRow("two") << QStringList{"--built-in", "chatml", "--template", "x"};
    QTest::newRow("no such built-in") << QStringList{"--built-in", "nothing"};
    QTest::newRow("no such file") << QStringList{"--template", "/no/such/file"};
    QTest::newRow("no such model") << QStringList{"--model", "/no/such/model"};
    QTest::newRow("a name without a model") << QStringList{"--built-in", "chatml", "--name", "x"};
  }
  void chatNeedsOneTemplate() {
    QFETCH(QStringList, options);
    const Outcome outcome = runProgram(QStringList{"tokenizer", "chat", "--jsonl"} + options, "{}\n");
    QCOMPARE(outcome.code, 2);
    QVERIFY(!outcome.error.isEmpty());
    QVERIFY(outcome.out.isEmpty());
  }
};

QTEST_GUILESS_MAIN(TestTokenizerCommand)
#include "test_tokenizer_command.moc"

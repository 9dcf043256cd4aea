// millrace data inspect: formats, examples token by token, counts, and rows that cannot be used.
#include "app/program.h"

using namespace millrace::test;

namespace {

const QString tokenizer = QStringLiteral(MILLRACE_TEST_DATA "/tokenizers/qwen2/tokenizer.json");

const QByteArray chats =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Hello\"}]}\n"
    "{\"messages\":[{\"role\":\"robot\",\"content\":\"Hi\"}]}\n"
    "\n"
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Again\"},{\"role\":\"assistant\",\"content\":\"Yes\",\"weight\":0}"
    "]}\n";

} // namespace

class TestDataCommand : public QObject {
  Q_OBJECT

  QTemporaryDir m_folder;

  QString write(const QString& name, const QByteArray& bytes) const {
    QFile file(m_folder.filePath(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
    return file.fileName();
  }

 private Q_SLOTS:
  void tellsWhatIsLearnt() {
    const QString file = write("chats.jsonl", chats);
    const QStringList arguments{"data", "inspect", "--data", file, "--tokenizer", tokenizer, "--built-in", "chatml"};
    const Outcome text = runProgram(arguments);
    QVERIFY2(text.code == 0, text.error.constData());
    for (const QByteArray& part :
         {file.toUtf8() + ": messages (the row at line 1 has a list 'messages')",
          QByteArray("built-in chat template chatml"), QByteArray("4 rows looked at: 1 documents"),
          QByteArray("1 rows are empty"), QByteArray("1 rows cannot be used:"),
          file.toUtf8() + ":2: message 1 has the role 'robot'",
          QByteArray("1 conversations are left out, since no token"), QByteArray("(<|im_start|>)(us)(er)(\\n)"),
          QByteArray("[<|im_end|>]")})
      QVERIFY2(text.out.contains(part), (part + " is not in\n" + text.out).constData());

    const Outcome json = runProgram(arguments + QStringList{"--json"});
    QCOMPARE(json.code, 0);
    const QJsonObject found = json.object();
    QCOMPARE(found["files"][0]["format"].toString(), "messages");
    QCOMPARE(found["documents"].toInt(), 1);
    QCOMPARE(found["bad_rows"].toInt(), 1);
    QCOMPARE(found["nothing_learnt"].toInt(), 1);
    QCOMPARE(found["unusable"][0]["line"].toInt(), 2);
    QCOMPARE(found["examples"].toArray().size(), 1);
    QString whole, learnt;
    for (const QJsonValue& token : found["examples"][0]["tokens"].toArray()) {
      whole += token["text"].toString();
      if (token["learnt"].toBool()) learnt += token["text"].toString();
    }
    QCOMPARE(whole, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n");
    QCOMPARE(learnt, "Hello<|im_end|>");
  }

  void longConversationsAreCounted() {
    const QString file = write("long.jsonl", chats);
    const Outcome outcome = runProgram({"data", "inspect", "--data", file, "--tokenizer", tokenizer, "--built-in",
                                        "chatml", "--context", "6", "--over-long", "drop", "--json"});
    QCOMPARE(outcome.code, 2);
    QCOMPARE(outcome.object()["dropped"].toInt(), 2);
    QVERIFY(isOneError(outcome, {"anything to learn from"}));
  }

  void aFieldThatIsMissingIsTold() {
    const QString file = write("bodies.jsonl", "{\"body\":\"a long text\",\"id\":\"1\"}\n");
    const Outcome outcome = runProgram({"data", "inspect", "--data", file, "--tokenizer", tokenizer});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.error.contains("the fields found are: body, id; set text_field to 'body'"),
             outcome.error.constData());
    const Outcome better =
        runProgram({"data", "inspect", "--data", file, "--tokenizer", tokenizer, "--text-field", "body"});
    QVERIFY2(better.code == 0 && better.out.contains("[ text][<|endoftext|>]"), better.out.constData());
  }

  void aProjectIsLookedAt() {
    write("text.txt", "one two three\n%\nfour five\n");
    const QString project =
        write("p.json", R"({"format":1,"model":{"config":{}},"tokenizer":{"train":{"vocabulary":300}},)"
                        R"("data":{"sources":{"path":"text.txt","separator":"%"}},"training":{"steps":1}})");
    const Outcome outcome = runProgram({"data", "inspect", project, "--set", "data.sources.separator=five"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QVERIFY2(outcome.out.contains("trained on these rows alone") &&
                 outcome.out.contains("1 rows looked at: 1 documents"),
             outcome.out.constData());
  }

  void whatIsNoSourceIsConverted() {
    const QString file = write("a.parquet", "PAR1");
    const Outcome outcome = runProgram({"data", "inspect", "--data", file, "--tokenizer", tokenizer});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"python3 -c", "read_parquet", "a.jsonl"}), outcome.error.constData());
  }

  void conversationsAreTrainedOn() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "chats", 3);
    QByteArray rows;
    for (int i = 0; i < 300; ++i)
      rows += chats.left(chats.indexOf('\n') + 1).replace("Hello", "Hello " + QByteArray::number(i));
    writeFile(folder.filePath("chats.jsonl"), rows);
    const QString run = folder.filePath("run");
    const Outcome outcome =
        runProgram({"train", project, "--run-dir", run, "--set",
                    "data.sources=[\"" + folder.filePath("chats.jsonl") + "\"]", "--set", "data.chat.built_in=plain"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    // The checkpoint's model has the template that it was trained with.
    const QStringList saved = QDir(run + "/checkpoints").entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    QVERIFY(!saved.isEmpty());
    QVERIFY(readFile(run + "/checkpoints/" + saved.back() + "/chat_template.jinja").contains("### Assistant:"));
  }

  void usage_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("nothing") << QStringList{};
    QTest::newRow("both") << QStringList{"p.json", "--data", "a.txt"};
    QTest::newRow("a word that is none") << QStringList{"--data", "a.txt", "--learn", "everything"};
    QTest::newRow("two templates") << QStringList{"--data", "a.txt", "--built-in", "chatml", "--template", "a.jinja"};
  }
  void usage() {
    QFETCH(QStringList, arguments);
    QCOMPARE(runProgram(QStringList{"data", "inspect"} + arguments).code, 2);
  }
};

QTEST_GUILESS_MAIN(TestDataCommand)
#include "test_data_command.moc"

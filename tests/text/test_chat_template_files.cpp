// Chat templates of model folders.
#include "base/atomic_file.h"
#include "support/memory_file_system.h"
#include "text/chat_template.h"

#include <QtTest>

using namespace millrace;

class TestChatTemplateFiles : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void finds_data() {
    QTest::addColumn<QByteArray>("config");    ///< tokenizer_config.json; empty: there is none
    QTest::addColumn<QByteArray>("template_"); ///< chat_template.jinja; empty: there is none
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("rendered");
    const QByteArray list =
        "{\"chat_template\":[{\"name\":\"default\",\"template\":\"D\"},{\"name\":\"tool_use\",\"template\":\"T\"}]}";
    QTest::newRow("a text") << QByteArray("{\"chat_template\":\"X{{ bos_token }}\",\"bos_token\":\"<b>\"}")
                            << QByteArray() << ""
                            << "X<b>";
    QTest::newRow("a token as object")
        << QByteArray("{\"chat_template\":\"X{{ eos_token }}\",\"eos_token\":{\"content\":\"<e>\",\"lstrip\":false}}")
        << QByteArray() << ""
        << "X<e>";
    QTest::newRow("no token")
        << QByteArray("{\"chat_template\":\"X{{ bos_token is defined }}\",\"bos_token\":null,\"add_bos_token\":true}")
        << QByteArray() << ""
        << "XFalse";
    QTest::newRow("a list") << list << QByteArray() << ""
                            << "D";
    QTest::newRow("by name") << list << QByteArray() << "tool_use"
                             << "T";
    QTest::newRow("a file") << QByteArray("{\"bos_token\":\"<b>\"}") << QByteArray("F{{ bos_token }}\n") << ""
                            << "F<b>";
    QTest::newRow("a file is before the configuration") << list << QByteArray("F") << ""
                                                        << "F";
    QTest::newRow("a file alone") << QByteArray() << QByteArray("F") << ""
                                  << "F";
    QTest::newRow("a list of one") << QByteArray("{\"chat_template\":[{\"name\":\"rag\",\"template\":\"R\"}]}")
                                   << QByteArray() << ""
                                   << "R";
  }
  void finds() {
    QFETCH(QByteArray, config);
    QFETCH(QByteArray, template_);
    QFETCH(QString, name);
    QFETCH(QString, rendered);
    test::MemoryFileSystem files;
    QVERIFY(files.createDirectories("/m").has_value());
    if (!config.isEmpty()) QVERIFY(writeTextFile(files, "/m/tokenizer_config.json", config.toStdString()).has_value());
    if (!template_.isEmpty())
      QVERIFY(writeTextFile(files, "/m/chat_template.jinja", template_.toStdString()).has_value());
    const auto made = ChatTemplate::load(files, "/m", name.toStdString());
    QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    const auto text = made->render(Json::object());
    QVERIFY2(text.has_value(), text ? "" : text.error().text().c_str());
    QCOMPARE(QString::fromStdString(text->text), rendered);
  }

  void saysWhatIsWrong_data() {
    QTest::addColumn<QByteArray>("config");
    QTest::addColumn<QString>("name");
    QTest::addColumn<QStringList>("words");
    QTest::newRow("none") << QByteArray("{}") << "" << QStringList{"/m", "no chat template", "chatml", "llama3"};
    QTest::newRow("no such name")
        << QByteArray("{\"chat_template\":[{\"name\":\"a\",\"template\":\"\"},{\"name\":\"b\",\"template\":\"\"}]}")
        << "c" << QStringList{"'c'", "a, b"};
    QTest::newRow("a name where there is one template")
        << QByteArray("{\"chat_template\":\"x\"}") << "c" << QStringList{"'c'"};
    QTest::newRow("no text") << QByteArray("{\"chat_template\":7}") << ""
                             << QStringList{"tokenizer_config.json", "number"};
    QTest::newRow("a list of texts") << QByteArray("{\"chat_template\":[\"x\"]}") << ""
                                     << QStringList{"tokenizer_config.json", "chat_template"};
    QTest::newRow("not JSON") << QByteArray("{") << "" << QStringList{"tokenizer_config.json"};
    QTest::newRow("a list") << QByteArray("[]") << "" << QStringList{"tokenizer_config.json", "object"};
    QTest::newRow("no Jinja") << QByteArray("{\"chat_template\":\"a\\n{% if %}\"}") << ""
                              << QStringList{"tokenizer_config.json", "line 2"};
    QTest::newRow("a name that climbs out") << QByteArray("{}") << "../x" << QStringList{"'../x'"};
  }
  void saysWhatIsWrong() {
    QFETCH(QByteArray, config);
    QFETCH(QString, name);
    QFETCH(QStringList, words);
    test::MemoryFileSystem files;
    QVERIFY(files.createDirectories("/m").has_value());
    QVERIFY(writeTextFile(files, "/m/tokenizer_config.json", config.toStdString()).has_value());
    const auto made = ChatTemplate::load(files, "/m", name.toStdString());
    QVERIFY(!made);
    QCOMPARE(int(made.error().kind), int(ErrorKind::BadInput));
    const QString text = QString::fromStdString(made.error().message);
    for (const QString& word : words) QVERIFY2(text.contains(word), qPrintable(text));
  }

  void unknownBuiltInIsNamed() {
    const auto made = ChatTemplate::builtIn("nothing");
    QVERIFY(!made);
    QVERIFY(QString::fromStdString(made.error().message).contains("chatml"));
  }
};

QTEST_GUILESS_MAIN(TestChatTemplateFiles)
#include "test_chat_template_files.moc"

#include "bridge/remote_place.h"

#include <QProcess>
#include <QtTest>

using namespace millrace::ui;

class TestRemotePlace : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void parses_data() {
    QTest::addColumn<QString>("address");
    QTest::addColumn<QString>("user");
    QTest::addColumn<QString>("host");
    QTest::addColumn<int>("port");
    QTest::addColumn<QString>("path");
    QTest::newRow("host and path") << "ssh://box/runs/a"
                                   << ""
                                   << "box" << 0 << "/runs/a";
    QTest::newRow("all") << "ssh://ann@box.example:2222/runs/a b"
                         << "ann"
                         << "box.example" << 2222 << "/runs/a b";
    QTest::newRow("home") << "ssh://box/~/runs/a"
                          << ""
                          << "box" << 0 << "~/runs/a";
    QTest::newRow("IPv6") << "ssh://[fe80::1]:22/r"
                          << ""
                          << "fe80::1" << 22 << "/r";
    QTest::newRow("blanks around") << "  ssh://box/r "
                                   << ""
                                   << "box" << 0 << "/r";
  }
  void parses() {
    QFETCH(QString, address);
    QString problem;
    const auto place = RemotePlace::parse(address, problem);
    QVERIFY2(place, qPrintable(problem));
    QTEST(place->user, "user");
    QTEST(place->host, "host");
    QTEST(place->port, "port");
    QTEST(place->path, "path");
    QCOMPARE(RemotePlace::parse(place->address(), problem)->path, place->path);
    QCOMPARE(place->address(), address.trimmed());
  }

  void refuses_data() {
    QTest::addColumn<QString>("address");
    QTest::newRow("empty") << "";
    QTest::newRow("other scheme") << "http://box/r";
    QTest::newRow("no path") << "ssh://box";
    QTest::newRow("root alone") << "ssh://box/";
    QTest::newRow("no host") << "ssh:///runs";
    QTest::newRow("host that is an option") << "ssh://-oProxyCommand=evil/r";
    QTest::newRow("user that is an option") << "ssh://-l@box/r";
    QTest::newRow("blank in the host") << "ssh://bo x/r";
    QTest::newRow("port too large") << "ssh://box:70000/r";
    QTest::newRow("port with a letter") << "ssh://box:2x/r";
  }
  void refuses() {
    QFETCH(QString, address);
    QString problem;
    QVERIFY(!RemotePlace::parse(address, problem));
    QVERIFY(!problem.isEmpty());
  }

  /// Whatever a word holds, the shell on the other side hands it on as it is.
  void wordsArriveAsTheyAre() {
    QString problem;
    const auto place = RemotePlace::parse("ssh://ann@box:22/r", problem);
    const QStringList words = {"printf", "%s|", "plain", "two words", "it's", "$HOME `id` \"x\" \\ ; rm -rf * &", ""};
    const QStringList arguments = place->sshArguments(words);
    QCOMPARE(arguments.at(arguments.size() - 3), QString("ann@box"));
    QCOMPARE(arguments.at(arguments.size() - 2), QString("--"));
    QVERIFY(arguments.contains("BatchMode=yes"));
    QProcess shell;
    shell.start("sh", {"-c", arguments.back()});
    QVERIFY(shell.waitForFinished());
    QCOMPARE(QString::fromUtf8(shell.readAllStandardOutput()), words.mid(2).join('|') + '|');
  }

  void homeIsTheOtherSides() {
    QString problem;
    const auto place = RemotePlace::parse("ssh://box/~/a b", problem);
    QProcess shell;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("HOME", "/somewhere");
    shell.setProcessEnvironment(environment);
    shell.start("sh", {"-c", place->sshArguments({"printf", "%s", place->path}).back()});
    QVERIFY(shell.waitForFinished());
    QCOMPARE(shell.readAllStandardOutput(), QByteArray("/somewhere/a b"));
  }
};

QTEST_GUILESS_MAIN(TestRemotePlace)
#include "test_remote_place.moc"

#include "run/sleep_inhibitor.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>

using namespace millrace;

/// A systemd-inhibit of ours tells what it was asked and how it ended.
class TestSleepInhibitor : public QObject {
  Q_OBJECT

  QTemporaryDir m_folder;
  QByteArray m_path;

  QByteArray read(const char* name) const {
    QFile file(m_folder.filePath(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  void install(const QByteArray& script) {
    QFile file(m_folder.filePath("systemd-inhibit"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(script);
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }

 private Q_SLOTS:
  void initTestCase() { m_path = qgetenv("PATH"); }
  void init() {
    for (const char* name : {"asked", "held"}) QFile::remove(m_folder.filePath(name));
    qputenv("PATH", m_folder.path().toUtf8() + ":" + m_path);
  }
  void cleanup() { qputenv("PATH", m_path); }

  void holdsWhileItLives() {
    install("#!/bin/sh\nhere=$(dirname \"$0\")\nprintf '%s\\n' \"$@\" > \"$here/asked\"\ntouch \"$here/held\"\n"
            "trap 'rm -f \"$here/held\"; exit' TERM EXIT\ncat\n");
    {
      const SleepInhibitor inhibitor = SleepInhibitor::start("goose");
      QVERIFY2(inhibitor.active(), inhibitor.reason().c_str());
      QTRY_VERIFY(QFile::exists(m_folder.filePath("held")));
      QCOMPARE(read("asked"),
               QByteArray("--what=sleep:idle\n--who=Millrace\n--why=training goose\n--mode=block\ncat\n"));
    }
    QTRY_VERIFY(!QFile::exists(m_folder.filePath("held")));
  }

  /// The real lock is gone when the process is, however that ended: the pipe closes.
  void theLockGoesWithAKilledProcess() {
    install("#!/bin/sh\nhere=$(dirname \"$0\")\ntouch \"$here/held\"\ncat\nrm -f \"$here/held\"\n");
    const pid_t child = ::fork();
    if (child == 0) {
      const SleepInhibitor inhibitor = SleepInhibitor::start("goose");
      for (;;) ::pause();
    }
    QTRY_VERIFY(QFile::exists(m_folder.filePath("held")));
    QCOMPARE(::kill(child, SIGKILL), 0);
    QTRY_VERIFY(!QFile::exists(m_folder.filePath("held")));
  }

  void isNoFailureWhereThereIsNone() {
    QFile::remove(m_folder.filePath("systemd-inhibit"));
    qputenv("PATH", m_folder.path().toUtf8());
    const SleepInhibitor inhibitor = SleepInhibitor::start("goose");
    QVERIFY(!inhibitor.active());
    QVERIFY(inhibitor.reason().find("systemd-inhibit") != std::string::npos);
  }

  /// One that refuses at once, or hangs, holds nobody up.
  void refusalsAndHangsAreNotWaitedFor_data() {
    QTest::addColumn<QByteArray>("script");
    QTest::newRow("refuses") << QByteArray("#!/bin/sh\nexit 1\n");
    QTest::newRow("hangs") << QByteArray("#!/bin/sh\nexec sleep 1000\n");
  }
  void refusalsAndHangsAreNotWaitedFor() {
    QFETCH(QByteArray, script);
    install(script);
    { const SleepInhibitor inhibitor = SleepInhibitor::start("goose"); }
  }
};

QTEST_GUILESS_MAIN(TestSleepInhibitor)
#include "test_sleep_inhibitor.moc"

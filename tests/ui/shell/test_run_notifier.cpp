// What the desktop is told of a run, on a message bus of our own.
#include "shell/run_notifier.h"
#include "train/run_session.h"
#include "ui/train/scripted_feed.h"

#include <QDBusError>
#include <QDBusMessage>
#include <QDBusPendingCall>
#include <QDateTime>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QWidget>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

/// A desktop that takes notifications.
class Desktop : public QObject {
  Q_OBJECT
  Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")

 public:
  QStringList titles, texts;
  QList<uint> urgencies;

 public Q_SLOTS:
  uint Notify(const QString& program, uint, const QString&, const QString& title, const QString& text,
              const QStringList&, const QVariantMap& hints, int) {
    if (program != u"Millrace") return 0;
    titles << title;
    texts << text;
    urgencies << hints["urgency"].toUInt();
    return static_cast<uint>(titles.size());
  }
};

class TestRunNotifier : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    const QString daemon = QStandardPaths::findExecutable("dbus-daemon");
    if (daemon.isEmpty()) QSKIP("dbus-daemon is not installed");
    m_daemon.start(daemon, {"--session", "--nofork", "--print-address", "--address=unix:dir=" + m_folder.path()});
    QVERIFY(m_daemon.waitForReadyRead(30'000));
    m_address = QString::fromUtf8(m_daemon.readLine()).trimmed();
    QDBusConnection theirs = QDBusConnection::connectToBus(m_address, "desktop");
    QVERIFY2(theirs.isConnected(), qPrintable(theirs.lastError().message()));
    QVERIFY(theirs.registerObject("/org/freedesktop/Notifications", &m_desktop, QDBusConnection::ExportAllSlots));
    QVERIFY(theirs.registerService("org.freedesktop.Notifications"));
  }
  void cleanupTestCase() {
    QDBusConnection::disconnectFromBus("ours");
    QDBusConnection::disconnectFromBus("desktop");
    m_daemon.terminate();
    m_daemon.waitForFinished();
  }
  void init() {
    m_desktop.titles.clear();
    m_desktop.texts.clear();
    m_desktop.urgencies.clear();
    auto feed = std::make_unique<ScriptedFeed>();
    m_feed = feed.get();
    m_session = std::make_unique<RunSession>(std::move(feed), "goose", QString());
    m_notifier = std::make_unique<RunNotifier>(m_window, QDBusConnection::connectToBus(m_address, "ours"));
    m_notifier->watch(m_session.get());
    m_session->open();
  }
  void cleanup() {
    m_notifier.reset();
    m_session.reset();
  }

  void ends_data() {
    QTest::addColumn<RunState>("state");
    QTest::addColumn<QString>("title"); // empty: nothing is told
    QTest::addColumn<QString>("text");
    QTest::newRow("finished") << RunState::Finished << "goose has finished"
                              << "Step 20, loss 2";
    QTest::newRow("failed") << RunState::Failed << "goose has failed"
                            << "the disk is &lt;full&gt;";
    QTest::newRow("stopped by somebody") << RunState::Interrupted << ""
                                         << "";
  }
  void ends() {
    QFETCH(RunState, state);
    m_feed->tell({step(20, now()), test::state(state, 20, now(), "the disk is <full>")});
    m_feed->end();
    settle();
    QFETCH(QString, title);
    QTEST(m_desktop.texts.value(0), "text");
    QCOMPARE(m_desktop.titles, title.isEmpty() ? QStringList() : QStringList(title));
    if (!title.isEmpty()) QCOMPARE(m_desktop.urgencies[0], state == RunState::Failed ? 2U : 1U);
  }

  void isKilled() {
    m_feed->tell({step(20, now())});
    m_feed->end("killed: process 12 on box is gone");
    settle();
    QCOMPARE(m_desktop.titles, QStringList("goose has ended before its end"));
    QCOMPARE(m_desktop.texts, QStringList("killed: process 12 on box is gone"));
    m_feed->connected(); // somebody goes on with it
    m_feed->tell({step(30, now()), test::state(RunState::Finished, 30, now())});
    settle();
    QCOMPARE(m_desktop.titles.size(), 2);
  }

  void historyIsNoNews() {
    m_feed->tell({step(20, 1.7e9), test::state(RunState::Finished, 20, 1.7e9)});
    m_feed->end();
    settle();
    QCOMPARE(m_desktop.titles, QStringList());
  }

  void neverReached() {
    auto feed = std::make_unique<ScriptedFeed>();
    feed->answers = false;
    ScriptedFeed* raw = feed.get();
    RunSession session(std::move(feed), "swan", QString());
    m_notifier->watch(&session);
    session.open();
    raw->end("there is no such run");
    settle();
    QCOMPARE(m_desktop.titles, QStringList());
    m_notifier->watch(nullptr);
  }

  void onlyTheRunThatIsShown() {
    m_notifier->watch(nullptr);
    m_feed->tell({test::state(RunState::Finished, 20, now())});
    m_feed->end();
    settle();
    QCOMPARE(m_desktop.titles, QStringList());
  }

  void notWhileSomebodyLooks() {
    m_window.show();
    QApplication::setActiveWindow(&m_window);
    QTRY_VERIFY(m_window.isActiveWindow());
    m_feed->tell({test::state(RunState::Finished, 20, now())});
    m_feed->end();
    settle();
    QCOMPARE(m_desktop.titles, QStringList());
    m_window.hide();
  }

  void withoutABus() {
    RunNotifier silent(m_window, QDBusConnection("nowhere"));
    silent.watch(m_session.get());
    m_notifier->watch(nullptr);
    m_feed->tell({test::state(RunState::Failed, 20, now(), "x")});
    m_feed->end();
    settle();
    QCOMPARE(m_desktop.titles, QStringList());
  }

 private:
  static double now() { return static_cast<double>(QDateTime::currentSecsSinceEpoch()); }
  /// A bus delivers in order: once the desktop has this one it has those of before.
  void settle() {
    QDBusConnection ours = QDBusConnection::connectToBus(m_address, "ours");
    QDBusMessage last = QDBusMessage::createMethodCall(
        "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify");
    last << QString("settle") << 0U << QString() << QString() << QString() << QStringList() << QVariantMap() << 0;
    QDBusPendingCall call = ours.asyncCall(last);
    QTRY_VERIFY_WITH_TIMEOUT(call.isFinished(), 30'000);
    QVERIFY2(!call.isError(), qPrintable(call.error().message()));
  }

  QTemporaryDir m_folder;
  QProcess m_daemon;
  QString m_address;
  Desktop m_desktop;
  QWidget m_window;
  ScriptedFeed* m_feed = nullptr;
  std::unique_ptr<RunSession> m_session;
  std::unique_ptr<RunNotifier> m_notifier;
};

QTEST_MAIN(TestRunNotifier)
#include "test_run_notifier.moc"

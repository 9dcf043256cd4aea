#include "runs/queue_model.h"
#include "runs/queue_panel.h"
#include "runs/run_queue.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QTreeView>
#include <QtTest>

using namespace millrace;
using namespace millrace::ui;

class TestRunQueue : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> m_folder;

  QString file() const { return m_folder->filePath("data/queue.json"); }
  std::unique_ptr<RunQueue> opened() {
    auto queue = std::make_unique<RunQueue>(file());
    queue->open();
    [&] { QTRY_VERIFY(queue->isReady()); }();
    return queue;
  }
  static QueuedRun project(const QString& title) {
    return {.title = title, .project = "{\"name\": \"" + title.toUtf8() + "\"}", .folder = "/p", .source = "p.json"};
  }
  static QStringList titles(const RunQueue& queue) {
    QStringList all;
    for (const QueuedRun& run : queue.runs()) all << run.title;
    return all;
  }
  /// What another window would find.
  static void settle() { QThreadPool::globalInstance()->waitForDone(); }

 private Q_SLOTS:
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }
  void cleanup() { settle(); }

  void ordersAsPeopleSay() {
    const auto queue = opened();
    QueueModel model(*queue);
    QAbstractItemModelTester tester(&model);
    for (const char* title : {"a", "b", "c", "d"}) queue->add(project(title));
    const auto id = [&](int place) { return queue->runs()[static_cast<std::size_t>(place)].id; };
    queue->move(id(3), -2);
    QCOMPARE(titles(*queue), (QStringList{"a", "d", "b", "c"}));
    queue->move(id(0), 9);
    QCOMPARE(titles(*queue), (QStringList{"d", "b", "c", "a"}));
    queue->setRunning(id(1), "/runs/b");
    QCOMPARE(titles(*queue), (QStringList{"b", "d", "c", "a"}));
    queue->move(id(3), -9); // not before what runs
    QCOMPARE(titles(*queue), (QStringList{"b", "a", "d", "c"}));
    queue->move(id(0), 1); // which has its place
    queue->remove(id(0));
    QCOMPARE(titles(*queue), (QStringList{"b", "a", "d", "c"}));
    QCOMPARE(queue->next()->title, "a");
    queue->remove(id(1));
    queue->setDone(id(0));
    QCOMPARE(titles(*queue), (QStringList{"d", "c"}));
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0, QueueModel::TitleColumn).data().toString(), "d");
  }

  /// What was running is to be resumed by the next window, which begins nothing by itself.
  void outlivesItsWindow() {
    auto queue = opened();
    for (const char* title : {"a", "b", "c"}) queue->add(project(title));
    queue->add({.kind = QueuedRun::Kind::Resume, .title = "r", .run = "/runs/r"});
    QueuedRun branch = project("x");
    branch.branch = BranchPoint{"/runs/a b", 12};
    queue->add(branch);
    queue->setOn(true);
    queue->setStopsOnFailure(false);
    queue->setRunning(queue->runs()[0].id, "/runs/a-1");
    queue->setFailed(queue->runs()[1].id, "no room");
    const std::vector<QueuedRun> before = queue->runs();
    queue.reset(); // at once: the last change is written all the same
    settle();
    queue = opened();
    QCOMPARE(titles(*queue), (QStringList{"a", "b", "c", "r", "x"}));
    QVERIFY(!queue->isOn());
    QVERIFY(!queue->stopsOnFailure());
    const std::vector<QueuedRun>& now = queue->runs();
    QVERIFY(now[0].kind == QueuedRun::Kind::Resume && now[0].state == QueuedRun::State::Waiting);
    QCOMPARE(now[0].run, "/runs/a-1");
    QVERIFY(now[1].state == QueuedRun::State::Failed);
    QCOMPARE(now[1].message, "no room");
    QCOMPARE(now[2].project, before[2].project);
    QCOMPARE(now[2].folder, "/p");
    QVERIFY(now[3].kind == QueuedRun::Kind::Resume);
    QVERIFY(now[4].branch == branch.branch);
    QCOMPARE(QFile(file()).permissions() & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions());
  }

  void oneWindowWorksOnIt() {
    auto first = opened();
    first->add(project("a"));
    settle();
    RunQueue second(file());
    second.open();
    QTRY_VERIFY_WITH_TIMEOUT(second.notice().contains("Another window"), 20'000);
    QVERIFY(!second.isReady());
    second.add(project("b"));
    QVERIFY(second.runs().empty());
    first.reset();
    second.open();
    QTRY_VERIFY_WITH_TIMEOUT(second.isReady(), 20'000);
    QCOMPARE(titles(second), QStringList{"a"});
    QCOMPARE(second.notice(), QString());
  }

  void aFailureStopsItOrNot_data() {
    QTest::addColumn<bool>("stops");
    QTest::newRow("stops") << true;
    QTest::newRow("goes on") << false;
  }
  void aFailureStopsItOrNot() {
    QFETCH(bool, stops);
    const auto queue = opened();
    queue->add(project("a"));
    queue->add(project("b"));
    queue->setStopsOnFailure(stops);
    queue->setOn(true);
    queue->setRunning(queue->runs()[0].id, "/runs/a-1");
    queue->setFailed(queue->runs()[0].id, "10 steps in a row");
    QCOMPARE(queue->isOn(), !stops);
    QVERIFY2(queue->notice().contains("a failed"), qPrintable(queue->notice()));
    QCOMPARE(queue->next()->title, "b");
    queue->retry(queue->runs()[0].id);
    QCOMPARE(queue->next()->title, "a");
    QVERIFY(queue->next()->kind == QueuedRun::Kind::Resume); // from its checkpoint
  }

  void aDamagedFileIsSetAside_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("no JSON") << QByteArray("{\"format\": 1, \"runs\": [");
    QTest::newRow("another format") << QByteArray("{\"format\": 7}");
    QTest::newRow("a list") << QByteArray("[1, 2]");
    QTest::newRow("empty") << QByteArray();
  }
  void aDamagedFileIsSetAside() {
    QFETCH(QByteArray, text);
    QDir(m_folder->path()).mkdir("data");
    QFile damaged(file());
    QVERIFY(damaged.open(QIODevice::WriteOnly));
    damaged.write(text);
    damaged.close();
    const auto queue = opened();
    QVERIFY(queue->runs().empty());
    QVERIFY2(queue->notice().contains("damaged"), qPrintable(queue->notice()));
    QFile aside(file() + ".damaged");
    QVERIFY(aside.open(QIODevice::ReadOnly));
    QCOMPARE(aside.readAll(), text);
    queue->add(project("a"));
    settle();
    QVERIFY(QFile::exists(file()));
  }

  /// Entries that say nothing are passed over.
  void wrongEntries() {
    QString problem;
    const auto queue = queueFromJson(R"({"format": 1, "runs": [1, {}, {"kind": "resume"}, {"kind": "project"},
        {"kind": "resume", "run": "/r", "state": "running", "title": 3}]})",
                                     problem);
    QVERIFY(queue);
    QCOMPARE(queue->runs.size(), std::size_t(1));
    QCOMPARE(queue->runs[0].run, "/r");
    QVERIFY(queue->stopsOnFailure);
  }

  void whereItCannotBeKeptThatIsTold() {
    QFile inTheWay(m_folder->filePath("data"));
    QVERIFY(inTheWay.open(QIODevice::WriteOnly));
    RunQueue queue(file());
    queue.open();
    QTRY_VERIFY_WITH_TIMEOUT(queue.notice().contains("queue.json"), 20'000);
    QVERIFY(!queue.isReady());
  }

  void panel() {
    const auto queue = opened();
    QueuePanel panel(*queue);
    panel.resize(900, 300);
    panel.show();
    const auto button = [&](const char* name) { return panel.findChild<QPushButton*>(name); };
    const auto click = [&](const char* name) {
      QVERIFY2(button(name)->isEnabled(), name);
      QTest::mouseClick(button(name), Qt::LeftButton);
    };
    QVERIFY(panel.findChild<QLabel*>("queueText")->text().contains("Nothing waits"));
    QVERIFY(!button("queueOnOff")->isEnabled() && !button("queueRemove")->isEnabled());
    for (const char* title : {"a", "b", "c"}) queue->add(project(title));
    auto* view = panel.findChild<QTreeView*>("queueView");
    view->setFocus();
    view->setCurrentIndex(view->model()->index(0, 0));
    QTest::keyClick(view, Qt::Key_Down);
    QTest::keyClick(view, Qt::Key_Down);
    QVERIFY(!button("queueDown")->isEnabled());
    click("queueUp");
    click("queueUp");
    QCOMPARE(titles(*queue), (QStringList{"c", "a", "b"}));
    QVERIFY(!button("queueUp")->isEnabled());
    click("queueDown");
    QCOMPARE(titles(*queue), (QStringList{"a", "c", "b"}));
    click("queueRemove");
    QCOMPARE(titles(*queue), (QStringList{"a", "b"}));
    QVERIFY(panel.findChild<QLabel*>("queueText")->text().contains("stands still"));
    click("queueOnOff");
    QVERIFY(queue->isOn());
    QVERIFY(panel.findChild<QCheckBox*>("queueStops")->isChecked());
    panel.findChild<QCheckBox*>("queueStops")->click();
    QVERIFY(!queue->stopsOnFailure());
    queue->setFailed(queue->runs()[1].id, "no room");
    view->setCurrentIndex(view->model()->index(1, 0));
    click("queueRetry");
    QVERIFY(queue->runs()[1].state == QueuedRun::State::Waiting);
    click("queueOnOff");
    QVERIFY(!queue->isOn());
  }
};

QTEST_MAIN(TestRunQueue)
#include "test_run_queue.moc"

// How busy processors and memory are, from made-up counts and of this machine.
#include "engine/machine_monitor.h"
#include "hardware/cpu_load.h"
#include "hardware/fake_tree.h"

#include <QtTest>

using namespace millrace;

class TestMachineMonitor : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cpuLoad_data() {
    QTest::addColumn<QString>("before");
    QTest::addColumn<QString>("after");
    QTest::addColumn<double>("share"); // negative: not told
    const QString begin = "cpu  100 10 50 800 40 5 5 0 7 0\ncpu0 1 1 1 1\n";
    QTest::newRow("idle") << begin << "cpu  100 10 50 900 40 5 5 0 7 0\n" << 0.0;
    QTest::newRow("waiting is idle") << begin << "cpu  100 10 50 850 90 5 5 0 7 0\n" << 0.0;
    QTest::newRow("busy") << begin << "cpu  150 20 60 800 40 15 15 10 7 0\n" << 1.0;
    QTest::newRow("half") << begin << "cpu  150 10 50 850 40 5 5 0 7 0\n" << 0.5;
    QTest::newRow("guests are counted once") << begin << "cpu  150 10 50 850 40 5 5 0 57 0\n" << 0.5;
    QTest::newRow("an old kernel's four figures") << "cpu 1 1 1 1\n"
                                                  << "cpu 2 1 1 2\n"
                                                  << 0.5;
    QTest::newRow("no time has passed") << begin << begin << -1.0;
    QTest::newRow("counts go back") << begin << "cpu  1 1 1 1 1 1 1 1 1 1\n" << -1.0;
    QTest::newRow("no numbers") << begin << "cpu  many more\n" << -1.0;
    QTest::newRow("nothing") << begin << "" << -1.0;
    QTest::newRow("nothing before") << ""
                                    << "cpu  100 10 50 900 40 5 5 0 7 0\n"
                                    << -1.0;
  }
  void cpuLoad() {
    QFETCH(QString, before);
    QFETCH(QString, after);
    FakeTree tree;
    tree.file("/proc/stat", before.toStdString());
    CpuLoad load(tree.files());
    tree.file("/proc/stat", after.toStdString());
    QTEST(load.take().value_or(-1), "share");
  }

  void thisMachine() {
    MachineMonitor monitor({"ffff:ff:1f.7"});
    const QDeadlineTimer patience(20'000);
    MachineLoad load = monitor.take();
    // The kernel counts in hundredths of a second.
    while (!load.cpu && !patience.hasExpired()) {
      QTest::qWait(20);
      load = monitor.take();
    }
    QVERIFY(load.cpu && *load.cpu >= 0 && *load.cpu <= 1);
    QVERIFY(load.memoryTotal > 0);
    QVERIFY(load.memoryUsed && *load.memoryUsed > 0 && *load.memoryUsed < load.memoryTotal);
    QCOMPARE(load.gpus.size(), std::size_t{1});
    QCOMPARE(load.gpus[0].pciAddress, std::string("ffff:ff:1f.7"));
    QVERIFY(!load.gpus[0].metrics); // there is no such card
  }
};

QTEST_GUILESS_MAIN(TestMachineMonitor)
#include "test_machine_monitor.moc"

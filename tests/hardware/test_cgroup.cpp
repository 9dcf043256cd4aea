// Memory and processor limits of control groups, in every arrangement that distributions and containers have.
#include "hardware/cgroup.h"
#include "hardware/fake_tree.h"

#include <QtTest>

using namespace millrace;

namespace {

const char* const version2Mount = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const char* const version1Mounts = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                                   "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                   "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                   "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const char* const noLimit1 = "9223372036854771712\n";

} // namespace

class TestCgroup : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nothingMounted() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/\n");
    tree.file("/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    QVERIFY(!cgroupMemory(tree.files()).limit);
    QVERIFY(!cgroupMemory(tree.files()).free);
    QVERIFY(!cgroupCpu(tree.files()).quota);
    QVERIFY(!cgroupMemory(FakeTree().files()).limit);
  }

  void version2WithoutLimit() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/user.slice/session-1.scope\n");
    tree.file("/proc/self/mountinfo", version2Mount);
    tree.file("/sys/fs/cgroup/user.slice/session-1.scope/memory.max", "max\n");
    tree.file("/sys/fs/cgroup/user.slice/session-1.scope/memory.high", "max\n");
    tree.file("/sys/fs/cgroup/user.slice/session-1.scope/cpu.max", "max 100000\n");
    tree.file("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    const CgroupMemory memory = cgroupMemory(tree.files());
    QVERIFY(!memory.limit);
    QVERIFY(!memory.free);
    QVERIFY(memory.limitSource.empty());
    QVERIFY(!cgroupCpu(tree.files()).quota);
  }

  void version2NestedMinimum_data() {
    QTest::addColumn<QString>("leaf");
    QTest::addColumn<QString>("leafHigh");
    QTest::addColumn<QString>("middle");
    QTest::addColumn<QString>("top");
    QTest::addColumn<qlonglong>("expected");
    QTest::addColumn<QString>("source");
    const char* base = "/sys/fs/cgroup/";
    const auto at = [&](const char* rest) { return QString(base) + rest; };
    QTest::newRow("leaf") << "1000000"
                          << "max"
                          << "2000000"
                          << "max" << 1000000ll << at("a/b/memory.max");
    QTest::newRow("high before max") << "1000000"
                                     << "900000"
                                     << "2000000"
                                     << "max" << 900000ll << at("a/b/memory.high");
    QTest::newRow("middle") << "max"
                            << "max"
                            << "2000000"
                            << "3000000" << 2000000ll << at("a/memory.max");
    QTest::newRow("top of a container") << "max"
                                        << "max"
                                        << "max"
                                        << "3000000" << 3000000ll << at("memory.max");
    QTest::newRow("leaf above its parent") << "9000000"
                                           << "max"
                                           << "500000"
                                           << "max" << 500000ll << at("a/memory.max");
  }
  void version2NestedMinimum() {
    QFETCH(QString, leaf);
    QFETCH(QString, leafHigh);
    QFETCH(QString, middle);
    QFETCH(QString, top);
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/a/b\n");
    tree.file("/proc/self/mountinfo", version2Mount);
    tree.file("/sys/fs/cgroup/a/b/memory.max", leaf.toStdString() + "\n");
    tree.file("/sys/fs/cgroup/a/b/memory.high", leafHigh.toStdString() + "\n");
    tree.file("/sys/fs/cgroup/a/memory.max", middle.toStdString() + "\n");
    tree.file("/sys/fs/cgroup/memory.max", top.toStdString() + "\n");
    const CgroupMemory memory = cgroupMemory(tree.files());
    QVERIFY(memory.limit);
    QTEST(static_cast<qlonglong>(*memory.limit), "expected");
    QTEST(QString::fromStdString(memory.limitSource), "source");
  }

  void tightestGroupDecidesWhatIsFree() {
    // The leaf has the smaller limit, but its parent is nearly full with another group's memory.
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/a/b\n");
    tree.file("/proc/self/mountinfo", version2Mount);
    tree.file("/sys/fs/cgroup/a/b/memory.max", "1000000");
    tree.file("/sys/fs/cgroup/a/b/memory.current", "400000");
    tree.file("/sys/fs/cgroup/a/b/memory.stat", "anon 100000\nfile 300000\ninactive_file 200000\nactive_file 100000\n");
    tree.file("/sys/fs/cgroup/a/memory.max", "2000000");
    tree.file("/sys/fs/cgroup/a/memory.current", "1900000");
    tree.file("/sys/fs/cgroup/a/memory.stat", "anon 1800000\ninactive_file 100000\nactive_file 0\n");
    const CgroupMemory memory = cgroupMemory(tree.files());
    QCOMPARE(*memory.limit, Bytes{1000000});
    QCOMPARE(*memory.free, Bytes{200000}); // leaf: 1000000 - (400000 - 300000) = 900000; parent: 200000
  }

  void moreUsedThanAllowedIsNothingFree() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/a\n");
    tree.file("/proc/self/mountinfo", version2Mount);
    tree.file("/sys/fs/cgroup/a/memory.max", "1000");
    tree.file("/sys/fs/cgroup/a/memory.current", "5000");
    QCOMPARE(*cgroupMemory(tree.files()).free, Bytes{0});
  }

  void version1() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job/step\n1:cpu,cpuacct:/job\n0::/\n");
    tree.file("/proc/self/mountinfo", version1Mounts);
    tree.file("/sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", noLimit1);
    tree.file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8589934592\n");
    tree.file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4294967296\n");
    tree.file("/sys/fs/cgroup/memory/job/memory.stat",
              "cache 1073741824\ninactive_file 5\ntotal_inactive_file 536870912\ntotal_active_file 536870912\n");
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", noLimit1);
    tree.file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "350000\n");
    tree.file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    tree.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    tree.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    const CgroupMemory memory = cgroupMemory(tree.files());
    QCOMPARE(*memory.limit, 8 * GiB);
    QCOMPARE(*memory.free, 5 * GiB);
    QCOMPARE(memory.limitSource, std::string("/sys/fs/cgroup/memory/job/memory.limit_in_bytes"));
    const CgroupCpu cpu = cgroupCpu(tree.files());
    QCOMPARE(*cpu.quota, 3.5);
    QCOMPARE(cpu.source, std::string("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us"));
  }

  void version1WithoutLimit() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "4:memory:/\n");
    tree.file("/proc/self/mountinfo", version1Mounts);
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", noLimit1);
    tree.file("/sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 9223372036854771712\n");
    QVERIFY(!cgroupMemory(tree.files()).limit);
  }

  void version1TellsOfUnseenAncestors() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "4:memory:/docker/abc\n");
    tree.file("/proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", noLimit1);
    tree.file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n");
    tree.file("/sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 2147483648\n");
    const CgroupMemory memory = cgroupMemory(tree.files());
    QCOMPARE(*memory.limit, 2 * GiB);
    QCOMPARE(*memory.free, 1 * GiB);
    QVERIFY(memory.limitSource.find("hierarchical_memory_limit") != std::string::npos);
  }

  void groupPathAgainstMountRoot_data() {
    QTest::addColumn<QString>("group");
    QTest::addColumn<QString>("root");
    QTest::addColumn<QString>("folder");
    QTest::newRow("whole hierarchy") << "/a/b"
                                     << "/"
                                     << "/sys/fs/cgroup/a/b";
    QTest::newRow("bound subtree") << "/docker/abc/job"
                                   << "/docker/abc"
                                   << "/sys/fs/cgroup/job";
    QTest::newRow("subtree itself") << "/docker/abc"
                                    << "/docker/abc"
                                    << "/sys/fs/cgroup";
    QTest::newRow("sibling with a longer name") << "/docker/abcdef"
                                                << "/docker/abc"
                                                << "/sys/fs/cgroup";
    QTest::newRow("outside of the namespace") << "/../../other"
                                              << "/"
                                              << "/sys/fs/cgroup";
  }
  void groupPathAgainstMountRoot() {
    QFETCH(QString, group);
    QFETCH(QString, root);
    QFETCH(QString, folder);
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::" + group.toStdString() + "\n");
    tree.file("/proc/self/mountinfo", "30 24 0:26 " + root.toStdString() + " /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.file(folder.toStdString() + "/memory.max", "777777\n");
    tree.file(folder.toStdString() + "/cpu.max", "50000 100000\n");
    QVERIFY(cgroupMemory(tree.files()).limit);
    QCOMPARE(*cgroupMemory(tree.files()).limit, Bytes{777777});
    QCOMPARE(*cgroupCpu(tree.files()).quota, 0.5);
  }

  void mountPointWithBlank() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/\n");
    tree.file("/proc/self/mountinfo", "30 24 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
    tree.file("/my groups/memory.max", "4096\n");
    QCOMPARE(*cgroupMemory(tree.files()).limit, Bytes{4096});
  }

  void nestedProcessorQuotas() {
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/a/b\n");
    tree.file("/proc/self/mountinfo", version2Mount);
    tree.file("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
    tree.file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    QCOMPARE(*cgroupCpu(tree.files()).quota, 1.5);
    QCOMPARE(cgroupCpu(tree.files()).source, std::string("/sys/fs/cgroup/a/cpu.max"));
  }

  void nonsenseIsNoLimit_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"", "none", "-5", "12 MB", "99999999999999999999999"}) QTest::newRow(text) << text;
  }
  void nonsenseIsNoLimit() {
    QFETCH(QString, text);
    FakeTree tree;
    tree.file("/proc/self/cgroup", "0::/\nnonsense\n::\n");
    tree.file("/proc/self/mountinfo", std::string("broken line\n") + version2Mount);
    tree.file("/sys/fs/cgroup/memory.max", text.toStdString());
    tree.file("/sys/fs/cgroup/cpu.max", text.toStdString() + " 100000");
    QVERIFY(!cgroupMemory(tree.files()).limit);
    QVERIFY(!cgroupCpu(tree.files()).quota);
  }
};

QTEST_GUILESS_MAIN(TestCgroup)
#include "test_cgroup.moc"

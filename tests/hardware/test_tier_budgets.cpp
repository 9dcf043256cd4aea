// What runs may take of each memory: the rules, at their edges, with what is said of them.
#include "engine/tier_budgets.h"

#include <QtTest>

using namespace millrace;

namespace {

constexpr double giga = static_cast<double>(GiB);

Bytes gib(double count) {
  return static_cast<Bytes>(count * giga);
}

HardwareProfile withMemory(double total, double usable) {
  HardwareProfile profile;
  profile.memory.total = gib(total);
  profile.memory.available = profile.memory.usable = gib(usable);
  return profile;
}

} // namespace

class TestTierBudgets : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void ram_data() {
    QTest::addColumn<double>("total"); // GiB, all of them
    QTest::addColumn<double>("usable");
    QTest::addColumn<double>("limit"); // of the cgroups; 0: none
    QTest::addColumn<double>("budget");
    QTest::newRow("eight for the desktop") << 64.0 << 60.0 << 0.0 << 52.0;
    QTest::newRow("a tenth of a large one") << 1000.0 << 900.0 << 0.0 << 800.0;
    QTest::newRow("where both rules meet") << 80.0 << 80.0 << 0.0 << 72.0;
    QTest::newRow("half of a small one") << 16.0 << 12.0 << 0.0 << 6.0;
    QTest::newRow("exactly half") << 32.0 << 16.0 << 0.0 << 8.0;
    QTest::newRow("just above half") << 32.0 << 17.0 << 0.0 << 9.0;
    QTest::newRow("nearly full") << 64.0 << 0.5 << 0.0 << 0.25;
    QTest::newRow("full") << 64.0 << 0.0 << 0.0 << 0.0;
    QTest::newRow("container's part of a large machine") << 2000.0 << 64.0 << 64.0 << 56.0;
    QTest::newRow("small container") << 2000.0 << 4.0 << 4.0 << 2.0;
    QTest::newRow("limit above the machine") << 64.0 << 60.0 << 500.0 << 52.0;
    QTest::newRow("total not known") << 0.0 << 30.0 << 0.0 << 22.0;
  }
  void ram() {
    QFETCH(double, total);
    QFETCH(double, usable);
    QFETCH(double, limit);
    QFETCH(double, budget);
    HardwareProfile profile = withMemory(total, usable);
    if (limit > 0) profile.memory.groupLimit = gib(limit);
    const TierBudget ram = tierBudgets(profile).ram;
    QCOMPARE(ram.bytes, gib(budget));
    QCOMPARE(ram.free, gib(usable));
    QCOMPARE(ram.bytes + ram.reserve, ram.free);
    QVERIFY(!ram.overridden && !ram.explanation.empty());
  }

  /// What was free when somebody looked says nothing of a machine that is only described, so that more memory in all
  /// never leaves less for a run.
  void aDescribedMachineIsEmpty() {
    HardwareProfile profile = withMemory(64, 58);
    profile.name = "described";
    QCOMPARE(tierBudgets(profile).ram.free, gib(64));
    Bytes before = 0;
    for (const double total : {8, 16, 64, 128, 1000}) {
      profile.memory.total = gib(total);
      const Bytes budget = tierBudgets(profile).ram.bytes;
      QVERIFY(budget > before);
      before = budget;
    }
    profile.memory.groupLimit = gib(100);
    profile.memory.groupFree = gib(1);
    QCOMPARE(tierBudgets(profile).ram.bytes, gib(90));
  }

  void theBindingCgroupIsNamed() {
    HardwareProfile profile = withMemory(64, 4);
    profile.memory.available = gib(60);
    profile.memory.groupFree = gib(4);
    profile.memory.groupLimit = gib(5);
    profile.memory.groupLimitSource = "/sys/fs/cgroup/job/memory.max";
    QVERIFY(tierBudgets(profile).ram.explanation.find("/sys/fs/cgroup/job/memory.max") != std::string::npos);
    profile.memory.groupFree = gib(62);
    QVERIFY(tierBudgets(profile).ram.explanation.find("cgroup") == std::string::npos);
  }

  void vram_data() {
    QTest::addColumn<double>("total");
    QTest::addColumn<double>("free");
    QTest::addColumn<bool>("display");
    QTest::addColumn<double>("budget");
    QTest::addColumn<QString>("words");
    QTest::newRow("idle") << 80.0 << 79.0 << false << 79.0 << "79.00 GiB free of 80.00 GiB";
    QTest::newRow("display") << 24.0 << 23.5 << true << 22.5 << "less 1.00 GiB for the display";
    QTest::newRow("nearly full, display") << 24.0 << 0.5 << true << 0.0 << "less 512.00 MiB for the display";
    QTest::newRow("full") << 24.0 << 0.0 << false << 0.0 << "0 B free";
    QTest::newRow("not told") << 0.0 << 0.0 << false << 0.0 << "does not tell";
  }
  void vram() {
    QFETCH(double, total);
    QFETCH(double, free);
    QFETCH(bool, display);
    QFETCH(double, budget);
    QFETCH(QString, words);
    HardwareProfile profile;
    GpuFacts gpu;
    gpu.memoryTotal = gib(total);
    gpu.memoryFree = gib(free);
    gpu.displayAttached = display;
    profile.nvidia.gpus = {gpu};
    const TierBudgets budgets = tierBudgets(profile);
    QCOMPARE(budgets.vram.size(), std::size_t{1});
    QCOMPARE(budgets.vram[0].bytes, gib(budget));
    QVERIFY2(QString::fromStdString(budgets.vram[0].explanation).contains(words), budgets.vram[0].explanation.c_str());
  }

  void vramInUseNamesWhoHoldsIt() {
    HardwareProfile profile;
    GpuFacts busy;
    busy.memoryTotal = gib(80);
    busy.memoryFree = gib(2);
    busy.processes = {{5, "", gib(1)}, {4242, "python3", gib(77)}, {6, "other", std::nullopt}};
    profile.nvidia.gpus = {busy, GpuFacts()};
    const TierBudgets budgets = tierBudgets(profile);
    QCOMPARE(budgets.vram.size(), std::size_t{2});
    QCOMPARE(budgets.vram[0].bytes, gib(2));
    QVERIFY(budgets.vram[0].explanation.find("in use by python3 (process 4242) and 2 more") != std::string::npos);
    QCOMPARE(budgets.vram[1].bytes, Bytes{0});
  }

  void disk_data() {
    QTest::addColumn<double>("total");
    QTest::addColumn<double>("free");
    QTest::addColumn<double>("budget");
    QTest::newRow("ten gibibytes") << 100.0 << 50.0 << 40.0;
    QTest::newRow("a twentieth") << 2000.0 << 1500.0 << 1400.0;
    QTest::newRow("where both rules meet") << 200.0 << 200.0 << 190.0;
    QTest::newRow("less free than is kept") << 2000.0 << 60.0 << 0.0;
    QTest::newRow("exactly what is kept") << 100.0 << 10.0 << 0.0;
    QTest::newRow("full") << 2000.0 << 0.0 << 0.0;
  }
  void disk() {
    QFETCH(double, total);
    QFETCH(double, free);
    QFETCH(double, budget);
    HardwareProfile profile;
    DiskFacts facts;
    facts.total = gib(total);
    facts.free = gib(free);
    profile.disks = {facts};
    const TierBudgets budgets = tierBudgets(profile);
    QCOMPARE(budgets.disks.at(0).bytes, gib(budget));
    QCOMPARE(budgets.disks[0].explanation.find("nothing:") == 0, budget == 0);
  }

  void kindsOfDisksAreSaid_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("words");
    QTest::newRow("nvme") << static_cast<int>(DiskKind::Nvme) << "";
    QTest::newRow("memory") << static_cast<int>(DiskKind::Memory) << "lies in RAM";
    QTest::newRow("network") << static_cast<int>(DiskKind::Network) << "over a network";
    QTest::newRow("hdd") << static_cast<int>(DiskKind::Hdd) << "rotating";
  }
  void kindsOfDisksAreSaid() {
    QFETCH(int, kind);
    QFETCH(QString, words);
    HardwareProfile profile;
    DiskFacts facts;
    facts.total = facts.free = gib(500);
    facts.kind = static_cast<DiskKind>(kind);
    facts.network = facts.kind == DiskKind::Network;
    profile.disks = {facts};
    const QString text = QString::fromStdString(tierBudgets(profile).disks.at(0).explanation);
    QVERIFY2(words.isEmpty() ? !text.contains(';') : text.contains(words), qPrintable(text));
  }

  void foldersOfOneFileSystemShare() {
    HardwareProfile profile;
    const auto folder = [&](const char* name, const char* mount, const char* device, Bytes total) {
      DiskFacts disk;
      disk.folder = name;
      disk.mountPoint = mount;
      disk.device = device;
      disk.fileSystem = "btrfs";
      disk.total = disk.free = total;
      profile.disks.push_back(disk);
    };
    folder("/a", "/", "nvme0n1", gib(900));
    folder("/b", "/", "nvme0n1", gib(900));
    folder("/mnt/c", "/mnt", "nvme1n1", gib(900));   // another disk
    folder("/home/d", "/home", "nvme0n1", gib(900)); // another part of the first file system
    folder("/boot", "/boot", "nvme0n1", gib(1));     // another partition
    folder("", "", "", gib(1));                      // nothing known: alone
    folder("", "", "", gib(1));
    QCOMPARE(tierBudgets(profile).sameDisk, (std::vector<int>{0, 0, 2, 0, 4, 5, 6}));
    QVERIFY(tierBudgets(profile).disks[3].explanation.find("shared with /a") != std::string::npos);
  }

  void lockable_data() {
    QTest::addColumn<qint64>("limit"); // -1: none
    QTest::addColumn<qint64>("budget");
    QTest::newRow("no limit") << qint64{-1} << qint64{gib(52)};
    QTest::newRow("8 MiB") << qint64{8 * MiB} << qint64{8 * MiB};
    QTest::newRow("nothing") << qint64{0} << qint64{0};
    QTest::newRow("more than RAM") << qint64{gib(500)} << qint64{gib(52)};
  }
  void lockable() {
    QFETCH(qint64, limit);
    QFETCH(qint64, budget);
    HardwareProfile profile = withMemory(64, 60);
    if (limit >= 0) profile.memory.lockLimit = limit;
    const TierBudgets budgets = tierBudgets(profile);
    QCOMPARE(budgets.lockable.bytes, Bytes{budget});
    QCOMPARE(budgets.ram.bytes, gib(52)); // it does not bind the rest
    QCOMPARE(budgets.lockable.explanation.find("ulimit -l") != std::string::npos, budget < gib(52));
    profile.wsl = true;
    QVERIFY(tierBudgets(profile).lockable.explanation.find("Windows") != std::string::npos);
  }

  void whatIsSetHolds() {
    HardwareProfile profile = withMemory(16, 12);
    profile.nvidia.gpus.resize(1);
    profile.nvidia.gpus[0].memoryTotal = gib(24);
    profile.nvidia.gpus[0].memoryFree = gib(20);
    profile.nvidia.gpus[0].displayAttached = true;
    profile.disks.resize(1);
    profile.disks[0].total = profile.disks[0].free = gib(100);
    TierOverrides overrides;
    overrides.vram = gib(22);
    overrides.ram = gib(11);
    overrides.disk = gib(99);
    const TierBudgets budgets = tierBudgets(profile, overrides);
    QCOMPARE(budgets.vram[0].bytes, gib(22));
    QCOMPARE(budgets.ram.bytes, gib(11));
    QCOMPARE(budgets.disks[0].bytes, gib(99));
    QVERIFY(budgets.vram[0].overridden && budgets.ram.overridden && budgets.disks[0].overridden);
    QVERIFY(budgets.vram[0].explanation.find("more than the GPU has now") != std::string::npos);
    QVERIFY(budgets.ram.explanation.find("more than") == std::string::npos);
    overrides = {};
    overrides.ram = gib(11);
    QVERIFY(!tierBudgets(profile, overrides).vram[0].overridden);
  }

  void emptyProfile() {
    const TierBudgets budgets = tierBudgets(HardwareProfile());
    QVERIFY(budgets.vram.empty() && budgets.disks.empty());
    QCOMPARE(budgets.ram.bytes, Bytes{0});
    QCOMPARE(budgets.lockable.bytes, Bytes{0});
  }
};

QTEST_GUILESS_MAIN(TestTierBudgets)
#include "test_tier_budgets.moc"

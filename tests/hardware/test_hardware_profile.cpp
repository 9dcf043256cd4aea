// The profile as a whole: of this machine, as JSON and as a table.
#include "hardware/detect.h"
#include "hardware/fake_nvml.h"
#include "hardware/fake_tree.h"
#include "hardware/profile_text.h"

#include <QtTest>
#include <unistd.h>

using namespace millrace;

class TestHardwareProfile : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void thisMachine() {
    QTemporaryDir folder;
    const HardwareProfile profile = detectHardware({folder.path().toStdString()});
    QVERIFY(profile.cpu.threads >= 1);
    QVERIFY(profile.cpu.usableCores >= 1 && profile.cpu.usableCores <= profile.cpu.allowedThreads);
    QVERIFY(profile.cpu.allowedThreads <= profile.cpu.threads);
    // A container may be shown less than the machine has, never more.
    const Bytes physical = static_cast<Bytes>(sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
    QVERIFY(profile.memory.total > 0 && profile.memory.total <= physical);
    QVERIFY(profile.memory.usable > 0 && profile.memory.usable <= profile.memory.total);
    QCOMPARE(profile.disks.size(), std::size_t{1});
    QVERIFY(profile.disks[0].free > 0);
    QVERIFY(!profile.disks[0].fileSystem.empty());
  }

  void fakedMachine() {
    FakeTree tree;
    tree.file("/proc/sys/kernel/hostname", "imaginary\n");
    tree.file("/proc/sys/kernel/osrelease", "6.1.0-1\n");
    tree.file("/proc/cpuinfo", "model name\t: Imaginary 9000\n");
    tree.file("/proc/self/status", "Cpus_allowed_list:\t0-15\n");
    tree.file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nHugepagesize: 2048 kB\n");
    tree.file("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes\n");
    tree.file("/proc/self/cgroup", "0::/job\n");
    tree.file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.file("/sys/fs/cgroup/job/memory.max", "4294967296\n");
    tree.file("/sys/fs/cgroup/job/cpu.max", "200000 100000\n");
    tree.file("/sys/bus/pci/devices/0000:17:00.0/vendor", "0x10de\n");
    tree.file("/sys/bus/pci/devices/0000:17:00.0/class", "0x030200\n");
    tree.file("/sys/bus/pci/devices/0000:17:00.0/device", "0x2335\n");
    HardwareSources sources;
    sources.root = tree.root();
    sources.topologyXml = Path(MILLRACE_SOURCE_DIR) / "tests/hardware/data/two_packages.xml";
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    nvml.gpus[0].compute = {{4242, 700ULL << 20, ~0u, ~0u}};
    sources.nvml = nvml.api();
    HardwareProfile profile = detectHardware({}, sources);
    profile.hostRates.memory = {11.5e9, RateOrigin::Measured, "probe", "2025-01-01T00:00:00Z"};
    profile.disks = {DiskFacts()};
    profile.disks[0].folder = "/data";
    profile.disks[0].total = profile.disks[0].free = 100 * GiB;
    QVERIFY2(profile.unknown.empty(), profile.unknown.empty() ? "" : profile.unknown[0].c_str());
    QVERIFY(!profile.wsl);

    const Json json = toJson(profile);
    QCOMPARE(json["host"].get<std::string>(), std::string("imaginary"));
    QCOMPARE(json["cpu"]["cores"].get<int>(), 8);
    QCOMPARE(json["cpu"]["usable_cores"].get<int>(), 2);
    QCOMPARE(json["cpu"]["quota"].get<double>(), 2.0);
    QCOMPARE(json["cpu"]["numa_nodes"].size(), std::size_t{2});
    QCOMPARE(json["memory"]["group_limit"].get<Bytes>(), 4 * GiB);
    QVERIFY(json["memory"]["lock_limit"].is_null());
    QCOMPARE(json["gpus"][0]["pci_address"].get<std::string>(), std::string("0000:17:00.0"));
    QCOMPARE(json["gpus"][0]["memory_total"].get<Bytes>(), 143771 * MiB);
    QCOMPARE(json["host_rates"]["memory"]["origin"].get<std::string>(), std::string("measured"));
    QVERIFY(parseJson(json.dump(), "profile").has_value());
    const TierBudgets budgets = tierBudgets(profile);
    const Json limits = toJson(budgets);
    QCOMPARE(limits["ram"]["bytes"].get<Bytes>(), 2 * GiB);
    QCOMPARE(limits["disks"][0]["bytes"].get<Bytes>(), 90 * GiB);
    QCOMPARE(limits["vram"][0]["free"].get<Bytes>(), 143000 * MiB);

    const QString table = QString::fromStdString(hardwareTable(profile) + budgetTable(profile, budgets));
    for (const char* part :
         {"imaginary",
          "6.1.0-1",
          "Imaginary 9000",
          "2 packages, 8 cores, 16 hardware threads",
          "2 cores",
          "quota 2.00 by /sys/fs/cgroup/job/cpu.max",
          "32.00 MiB",
          "NUMA node 1",
          "64.00 GiB",
          "16.00 GiB",
          "available 8.00 GiB",
          "4.00 GiB by /sys/fs/cgroup/job/memory.max",
          "no limit",
          "GPU 0",
          "NVIDIA H200 at PCI 0000:17:00.0, compute capability 9.0, driver 570.86.15",
          "python3 (process 4242): 700.00 MiB",
          "PCIe 5 x16, now PCIe 1 x16 (an idle link reads low)",
          "700 W",
          "11.5 GB/s (measured 2025-01-01T00:00:00Z, probe)",
          "RAM for runs          2.00 GiB: 4.00 GiB usable under the limit of /sys/fs/cgroup/job/memory.max",
          "VRAM for runs, GPU 0  139.65 GiB: ",
          "for runs in /data     90.00 GiB: "})
      QVERIFY2(table.contains(part), qPrintable(QString("%1 missing in:\n%2").arg(part, table)));
    QVERIFY(table.endsWith('\n'));
  }

  void topologyOfTheEnvironment() {
    // What hwloc itself takes from there is what programs that share the machine plan with.
    qputenv("HWLOC_XMLFILE", (std::string(MILLRACE_SOURCE_DIR) + "/tests/hardware/data/two_packages.xml").c_str());
    FakeTree tree;
    tree.file("/proc/self/status", "Cpus_allowed_list:\t0-15\n");
    HardwareSources sources;
    sources.root = tree.root();
    const HardwareProfile profile = detectHardware({}, sources);
    qunsetenv("HWLOC_XMLFILE");
    QCOMPARE(profile.cpu.packages, 2);
    QCOMPARE(profile.cpu.cores, 8);
    QCOMPARE(profile.cpu.numaNodes.size(), std::size_t{2});
  }

  void windowsUnderneath_data() {
    QTest::addColumn<QString>("release");
    QTest::addColumn<bool>("wsl");
    QTest::newRow("WSL 2") << "5.15.90.1-microsoft-standard-WSL2" << true;
    QTest::newRow("WSL 1") << "4.4.0-19041-Microsoft" << true;
    QTest::newRow("Debian") << "6.1.0-18-amd64" << false;
    QTest::newRow("cloud of the same maker") << "6.1.0-1021-azure" << false;
    QTest::newRow("not told") << "" << false;
  }
  void windowsUnderneath() {
    QFETCH(QString, release);
    FakeTree tree;
    tree.file("/proc/sys/kernel/osrelease", release.toStdString() + "\n");
    HardwareSources sources;
    sources.root = tree.root();
    QTEST(detectHardware({}, sources).wsl, "wsl");
  }

  void namesOfInstructionSets() {
    QCOMPARE(describeInstructionSets({}), std::string("none"));
    InstructionSets sets;
    sets.sse42 = sets.avx2 = true;
    QCOMPARE(describeInstructionSets(sets), std::string("SSE4.2, AVX2"));
  }
};

QTEST_GUILESS_MAIN(TestHardwareProfile)
#include "test_hardware_profile.moc"

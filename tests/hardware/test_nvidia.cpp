// NVIDIA cards on a made-up PCI bus, and the line that says why one is not used.
#include "hardware/fake_tree.h"
#include "hardware/nvidia.h"

#include <QtTest>

using namespace millrace;

namespace {

const char* const closedModule =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
const char* const openModule = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  "
                               "(dvs-builder@U16)  Thu Jan 23 22:32:04 UTC 2025\nGCC version: gcc version 12.2.0\n";

void addDevice(FakeTree& tree, const std::string& address, const std::string& vendor, const std::string& pciClass) {
  const std::string folder = "/sys/bus/pci/devices/" + address;
  tree.file(folder + "/vendor", vendor + "\n");
  tree.file(folder + "/class", pciClass + "\n");
  tree.file(folder + "/device", "0x2335\n");
}

void bindDriver(FakeTree& tree, const std::string& address, const std::string& driver) {
  tree.folder("/sys/bus/pci/drivers/" + driver);
  tree.link("/sys/bus/pci/devices/" + address + "/driver", "/sys/bus/pci/drivers/" + driver);
}

HardwareProfile profileOf(const FakeTree& tree) {
  HardwareProfile profile;
  profile.nvidia = readNvidiaFacts(tree.files());
  return profile;
}

} // namespace

class TestNvidia : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void scanTakesOnlyNvidiaDisplayControllers() {
    FakeTree tree;
    addDevice(tree, "0000:00:02.0", "0x8086", "0x030000"); // another maker's
    addDevice(tree, "0000:17:00.0", "0x10de", "0x030200"); // 3D controller
    addDevice(tree, "0000:18:00.0", "0x10de", "0x030000"); // VGA
    addDevice(tree, "0000:18:00.1", "0x10de", "0x040300"); // its sound device
    addDevice(tree, "0000:07:00.0", "0x10de", "0x068000"); // NVSwitch
    bindDriver(tree, "0000:17:00.0", "nvidia");
    tree.file("/proc/driver/nvidia/version", openModule);
    tree.file("/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t NVIDIA H200\nIRQ:   \t\t 20\n");
    const NvidiaFacts nvidia = readNvidiaFacts(tree.files());
    QCOMPARE(nvidia.gpus.size(), std::size_t{2});
    GpuFacts expected;
    expected.pciAddress = "0000:17:00.0";
    expected.deviceId = "2335";
    expected.name = "NVIDIA H200";
    expected.boundDriver = "nvidia";
    QVERIFY(nvidia.gpus[0] == expected);
    expected.pciAddress = "0000:18:00.0";
    expected.name = expected.boundDriver = "";
    QVERIFY(nvidia.gpus[1] == expected);
    QCOMPARE(nvidia.driverVersion, std::string("570.86.15"));
    QVERIFY(!nvidia.deviceNodes);
  }

  void linkAndNode_data() {
    QTest::addColumn<QString>("speed");
    QTest::addColumn<QString>("width");
    QTest::addColumn<QString>("node");
    QTest::addColumn<int>("generation");
    QTest::addColumn<int>("lanes");
    QTest::addColumn<int>("numaNode"); // -1: none
    QTest::newRow("generation 5") << "32.0 GT/s PCIe"
                                  << "16"
                                  << "1" << 5 << 16 << 1;
    QTest::newRow("older kernel") << "8 GT/s"
                                  << "8"
                                  << "0" << 3 << 8 << 0;
    QTest::newRow("2.5") << "2.5 GT/s PCIe"
                         << "1"
                         << "-1" << 1 << 1 << -1;
    QTest::newRow("not told") << "Unknown"
                              << "255"
                              << "-1" << 0 << 0 << -1;
    QTest::newRow("hostile") << "9999 GT/s"
                             << "99999999999999999999"
                             << "99999999999" << 0 << 0 << -1;
  }
  void linkAndNode() {
    QFETCH(QString, speed);
    QFETCH(QString, width);
    QFETCH(QString, node);
    QFETCH(int, numaNode);
    FakeTree tree;
    addDevice(tree, "0000:17:00.0", "0x10de", "0x030200");
    const std::string folder = "/sys/bus/pci/devices/0000:17:00.0/";
    tree.file(folder + "max_link_speed", speed.toStdString() + "\n");
    tree.file(folder + "max_link_width", width.toStdString() + "\n");
    tree.file(folder + "current_link_speed", "5.0 GT/s PCIe\n");
    tree.file(folder + "current_link_width", "4\n");
    tree.file(folder + "numa_node", node.toStdString() + "\n");
    const GpuFacts gpu = readNvidiaFacts(tree.files()).gpus.at(0);
    QTEST(gpu.maximalLink.generation, "generation");
    QTEST(gpu.maximalLink.width, "lanes");
    QVERIFY(gpu.link == (PciLink{2, 4}));
    QCOMPARE(gpu.numaNode.value_or(-1), numaNode);
  }

  void screens_data() {
    QTest::addColumn<QString>("status"); // of the second socket
    QTest::addColumn<bool>("attached");
    QTest::newRow("connected") << "connected" << true;
    QTest::newRow("empty sockets") << "disconnected" << false;
    QTest::newRow("not known") << "unknown" << false;
  }
  void screens() {
    QFETCH(QString, status);
    FakeTree tree;
    addDevice(tree, "0000:17:00.0", "0x10de", "0x030000");
    const std::string card = "/sys/bus/pci/devices/0000:17:00.0/drm/card1";
    tree.file(card + "/card1-DP-1/status", "disconnected\n");
    tree.file(card + "/card1-HDMI-A-1/status", status.toStdString() + "\n");
    tree.folder("/sys/bus/pci/devices/0000:17:00.0/drm/renderD128");
    QTEST(readNvidiaFacts(tree.files()).gpus.at(0).displayAttached, "attached");
  }

  void driverVersion_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("version");
    QTest::newRow("closed module") << closedModule << "535.183.01";
    QTest::newRow("open module") << openModule << "570.86.15";
    QTest::newRow("two numbers") << "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95  Tue"
                                 << "580.95";
    QTest::newRow("compiler only") << "GCC version:  gcc version 12.2.0\n"
                                   << "";
    QTest::newRow("empty") << ""
                           << "";
  }
  void driverVersion() {
    QFETCH(QString, text);
    QTEST(QString::fromStdString(nvidiaDriverVersion(text.toStdString())), "version");
  }

  void notice_data() {
    QTest::addColumn<QString>("boundDriver");
    QTest::addColumn<QString>("version");
    QTest::addColumn<bool>("nodes");
    QTest::addColumn<bool>("builtWithCuda");
    QTest::addColumn<int>("cuda");
    QTest::addColumn<QString>("why"); // empty: no notice
    QTest::addColumn<QString>("fix");
    const QString old(closedModule), current(openModule);
    QTest::newRow("no driver") << ""
                               << "" << false << true << 1208 << "driver is not loaded"
                               << "570 or newer";
    QTest::newRow("no driver, CUDA 13") << ""
                                        << "" << false << true << 1300 << "driver is not loaded"
                                        << "580 or newer";
    QTest::newRow("nouveau") << "nouveau"
                             << "" << false << true << 1208 << "nouveau"
                             << "570 or newer";
    QTest::newRow("too old") << "nvidia" << old << true << true << 1208 << "535.183.01 is too old"
                             << "570 or newer";
    QTest::newRow("too old for 13") << "nvidia" << current << true << true << 1300 << "CUDA 13.0 needs 580"
                                    << "580 or";
    QTest::newRow("too old and no CUDA") << "nvidia" << old << true << false << 1208 << "too old"
                                         << "570 or newer";
    QTest::newRow("no CUDA") << "nvidia" << current << true << false << 1208 << "built without CUDA"
                             << "toolkit 12.8";
    QTest::newRow("no device nodes") << "nvidia" << current << false << true << 1208 << "/dev/nvidiactl"
                                     << "container";
    QTest::newRow("passed through") << "vfio-pci" << current << true << true << 1208 << "virtual machines"
                                    << "bind it";
    QTest::newRow("all well") << "nvidia" << current << true << true << 1208 << ""
                              << "";
  }
  void notice() {
    QFETCH(QString, boundDriver);
    QFETCH(QString, version);
    QFETCH(bool, nodes);
    QFETCH(bool, builtWithCuda);
    QFETCH(int, cuda);
    QFETCH(QString, why);
    QFETCH(QString, fix);
    FakeTree tree;
    addDevice(tree, "0000:17:00.0", "0x10de", "0x030200");
    if (!boundDriver.isEmpty()) bindDriver(tree, "0000:17:00.0", boundDriver.toStdString());
    if (!version.isEmpty()) tree.file("/proc/driver/nvidia/version", version.toStdString());
    if (nodes) tree.file("/dev/nvidiactl", "");
    const auto notices = gpuNotices(profileOf(tree), builtWithCuda, cuda);
    QCOMPARE(notices.size(), std::size_t{why.isEmpty() ? 0u : 1u});
    if (notices.empty()) return;
    const QString line = QString::fromStdString(notices[0]);
    QVERIFY2(line.contains(why), qPrintable(line));
    QVERIFY2(line.contains("Fix:") && line.section("Fix:", 1).contains(fix), qPrintable(line));
    QVERIFY2(line.contains("0000:17:00.0") && !line.contains('\n'), qPrintable(line));
  }

  void noCardNoNotice() {
    FakeTree tree;
    addDevice(tree, "0000:00:02.0", "0x8086", "0x030000");
    QVERIFY(gpuNotices(profileOf(tree), false).empty());
    QVERIFY(gpuNotices(HardwareProfile(), false).empty());
  }

  void manyCardsOneLine() {
    FakeTree tree;
    for (const char* address : {"0000:17:00.0", "0000:18:00.0", "0000:19:00.0"})
      addDevice(tree, address, "0x10de", "0x030200");
    const auto notices = gpuNotices(profileOf(tree), true);
    QCOMPARE(notices.size(), std::size_t{1});
    QVERIFY(notices[0].find("3 NVIDIA cards") == 0);
    QVERIFY(notices[0].find("0000:19:00.0") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestNvidia)
#include "test_nvidia.moc"

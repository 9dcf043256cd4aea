// The machine as a tree: what is alike is folded, cards and disks stand at their place, and nothing of a profile is
// lost.
#include "hardware/detect.h"
#include "hardware/topology_tree.h"

#include <QtTest>

using namespace millrace;

namespace {

const Path data = Path(MILLRACE_SOURCE_DIR) / "tests/hardware/data";

/// "package 0 [numa 0, 4 x L2 [core of 2]]"
std::string outline(const TopologyNode& node) {
  std::string text = node.count > 1 ? std::to_string(node.count) + " x " : "";
  switch (node.kind) {
  case TopologyKind::Machine:
    text += "machine";
    break;
  case TopologyKind::Package:
    text += "package " + std::to_string(node.index);
    break;
  case TopologyKind::NumaNode:
    text += "numa " + std::to_string(node.index);
    break;
  case TopologyKind::Cache:
    text += "L" + std::to_string(node.level);
    break;
  case TopologyKind::Core:
    text += "core of " + std::to_string(node.threads);
    break;
  case TopologyKind::Gpu:
  case TopologyKind::Disk:
  case TopologyKind::FileSystem:
    text += node.name;
    break;
  }
  if (node.children.empty()) return text;
  text += " [";
  for (const TopologyNode& child : node.children)
    text += outline(child) + (&child == &node.children.back() ? "]" : ", ");
  return text;
}

const TopologyNode* find(const TopologyNode& node, const std::string& name) {
  if (node.name == name) return &node;
  for (const TopologyNode& child : node.children)
    if (const TopologyNode* found = find(child, name)) return found;
  return nullptr;
}

HardwareProfile profileWithDevices() {
  HardwareProfile profile;
  profile.host = "imaginary";
  profile.memory.total = 16 * GiB;
  GpuFacts gpu;
  gpu.index = 0;
  gpu.pciAddress = "0000:17:00.0";
  gpu.name = "NVIDIA H200";
  gpu.memoryTotal = 141 * GiB;
  profile.nvidia.gpus = {gpu};
  DiskFacts drive;
  drive.folder = "/mnt/nvme/state";
  drive.mountPoint = "/mnt/nvme";
  drive.device = "nvme0n1";
  drive.total = 7000 * GiB;
  DiskFacts overlay;
  overlay.folder = "/runs";
  overlay.mountPoint = "/";
  overlay.total = 100 * GiB;
  profile.disks = {overlay, drive, drive};
  profile.disks[2].folder = "/mnt/nvme/runs"; // another folder of the same file system
  return profile;
}

} // namespace

class TestTopologyTree : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void whatIsAlikeIsFolded() {
    const TopologyNode tree = readTopologyTree(HardwareProfile(), data / "two_packages.xml");
    QCOMPARE(outline(tree), std::string("machine [package 0 [numa 0, L3 [4 x L2 [L1 [core of 2]]]], package 1 [numa 1, "
                                        "L3 [4 x L2 [L1 [core of 2]]]]]"));
    const TopologyNode& package = tree.children[0];
    QCOMPARE(package.children[0].size, 64 * GiB);
    QCOMPARE(package.children[1].size, 32 * MiB);
    QCOMPARE(package.children[1].children[0].size, MiB);
  }

  void devicesAreAtTheirPlace() {
    const HardwareProfile profile = profileWithDevices();
    const TopologyNode tree = readTopologyTree(profile, data / "devices.xml");
    QCOMPARE(outline(tree),
             std::string("machine [package 0 [numa 0, 2 x L2 [core of 2], NVIDIA H200, A board's own graphics, nvme0n1 "
                         "[/mnt/nvme]], /]"));
    QCOMPARE(tree.name, std::string("imaginary"));
    QCOMPARE(tree.children[0].name, std::string("Imaginary 9000"));
    const TopologyNode* gpu = find(tree, "NVIDIA H200");
    QCOMPARE(gpu->fact, 0);
    QCOMPARE(gpu->pciAddress, std::string("0000:17:00.0"));
    QCOMPARE(gpu->size, 141 * GiB);
    QCOMPARE(find(tree, "A board's own graphics")->fact, -1);
    const TopologyNode* disk = find(tree, "nvme0n1");
    QCOMPARE(disk->pciAddress, std::string("0000:c1:00.0"));
    QCOMPARE(disk->size, Bytes{7501476528} * KiB);
    QCOMPARE(find(tree, "/mnt/nvme")->fact, 1);
    QCOMPARE(find(tree, "/")->fact, 0);
    QVERIFY(!find(tree, "eth0"));
  }

  /// As in containers, where the bus is not shown.
  void whatHwlocDoesNotSeeIsBelowTheMachine() {
    const TopologyNode tree = readTopologyTree(profileWithDevices(), data / "two_packages.xml");
    QVERIFY(QString::fromStdString(outline(tree)).endsWith(", NVIDIA H200, /, /mnt/nvme]"));
  }

  void withoutATopologyTheProfileIsLeft() {
    const TopologyNode tree = readTopologyTree(profileWithDevices(), data / "no-such-file.xml");
    QCOMPARE(outline(tree), std::string("machine [NVIDIA H200, /, /mnt/nvme]"));
    QCOMPARE(outline(readTopologyTree(HardwareProfile(), data / "no-such-file.xml")), std::string("machine"));
  }

  void thisMachine() {
    const HardwareProfile profile = detectHardware();
    const TopologyNode tree = machineTopology(profile);
    QCOMPARE(tree.size, profile.memory.total);
    QVERIFY(!tree.children.empty());
  }
};

QTEST_GUILESS_MAIN(TestTopologyTree)
#include "test_topology_tree.moc"

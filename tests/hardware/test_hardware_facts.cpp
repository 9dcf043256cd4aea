// Topology, usable cores, memory and disks, read from made-up trees.
#include "hardware/disk.h"
#include "hardware/fake_tree.h"
#include "hardware/instruction_sets.h"
#include "hardware/memory.h"
#include "hardware/topology.h"

#include <QtTest>

using namespace millrace;

namespace {

const Path twoPackages = Path(MILLRACE_SOURCE_DIR) / "tests/hardware/data/two_packages.xml"; // 2 x 4 cores x 2 threads

void addStatus(FakeTree& tree, const std::string& allowed) {
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Imaginary 9000 CPU @ 3GHz\nflags\t: fpu\n\nprocessor\t: 1\n");
  tree.file("/proc/self/status", "Name:\tx\nCpus_allowed:\tffff\nCpus_allowed_list:\t" + allowed + "\n");
}

} // namespace

class TestHardwareFacts : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void topology() {
    FakeTree tree;
    addStatus(tree, "0-15");
    std::vector<std::string> unknown;
    const CpuFacts cpu = readCpuFacts(tree.files(), twoPackages, unknown);
    QVERIFY2(unknown.empty(), unknown.empty() ? "" : unknown[0].c_str());
    QCOMPARE(cpu.name, std::string("Imaginary 9000 CPU @ 3GHz"));
    QCOMPARE(cpu.packages, 2);
    QCOMPARE(cpu.cores, 8);
    QCOMPARE(cpu.threads, 16);
    QCOMPARE(cpu.usableCores, 8);
    QCOMPARE(cpu.numaNodes.size(), std::size_t{2});
    QCOMPARE(cpu.numaNodes[1].index, 1);
    QCOMPARE(cpu.numaNodes[1].cores, 4);
    QCOMPARE(cpu.numaNodes[1].threads, 8);
    QCOMPARE(cpu.numaNodes[1].memory, 64 * GiB);
    QCOMPARE(cpu.caches.size(), std::size_t{3});
    QCOMPARE(cpu.caches[0], (CacheFacts{1, 48 * KiB, 8}));
    QCOMPARE(cpu.caches[1], (CacheFacts{2, 1 * MiB, 8}));
    QCOMPARE(cpu.caches[2], (CacheFacts{3, 32 * MiB, 2}));
  }

  void usableCores_data() {
    QTest::addColumn<QString>("allowed");
    QTest::addColumn<QString>("quota"); // cpu.max
    QTest::addColumn<int>("allowedThreads");
    QTest::addColumn<int>("allowedCores");
    QTest::addColumn<int>("usable");
    QTest::newRow("everything") << "0-15"
                                << "max 100000" << 16 << 8 << 8;
    QTest::newRow("both threads of two cores") << "0-3"
                                               << "max 100000" << 4 << 2 << 2;
    QTest::newRow("one thread of each core") << "0,2,4,6,8,10,12,14"
                                             << "max 100000" << 8 << 8 << 8;
    QTest::newRow("quota under the cores") << "0-15"
                                           << "350000 100000" << 16 << 8 << 3;
    QTest::newRow("quota above the cores") << "0-3"
                                           << "900000 100000" << 4 << 2 << 2;
    QTest::newRow("quota under one core") << "0-15"
                                          << "20000 100000" << 16 << 8 << 1;
  }
  void usableCores() {
    QFETCH(QString, allowed);
    QFETCH(QString, quota);
    FakeTree tree;
    addStatus(tree, allowed.toStdString());
    tree.file("/proc/self/cgroup", "0::/\n");
    tree.file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.file("/sys/fs/cgroup/cpu.max", quota.toStdString());
    std::vector<std::string> unknown;
    const CpuFacts cpu = readCpuFacts(tree.files(), twoPackages, unknown);
    QTEST(cpu.allowedThreads, "allowedThreads");
    QTEST(cpu.allowedCores, "allowedCores");
    QTEST(cpu.usableCores, "usable");
  }

  void unreadableTopologyIsSaid() {
    FakeTree tree;
    addStatus(tree, "0-5");
    std::vector<std::string> unknown;
    const CpuFacts cpu = readCpuFacts(tree.files(), "/no/such/topology.xml", unknown);
    QCOMPARE(unknown.size(), std::size_t{1});
    QVERIFY(unknown[0].find("/no/such/topology.xml") != std::string::npos);
    QCOMPARE(cpu.usableCores, 6);
  }

  void emptyTreeStillGivesOneCore() {
    std::vector<std::string> unknown;
    QVERIFY(readCpuFacts(FakeTree().files(), "/no/such/topology.xml", unknown).usableCores == 1);
    QCOMPARE(unknown.size(), std::size_t{3});
  }

  void cpuLists_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QList<int>>("expected");
    QTest::newRow("one") << "3" << QList<int>{3};
    QTest::newRow("mixed") << "8,0-2,10-11\n" << QList<int>{0, 1, 2, 8, 10, 11};
    QTest::newRow("empty") << "" << QList<int>{};
    QTest::newRow("reversed") << "5-2" << QList<int>{};
    QTest::newRow("words") << "all" << QList<int>{};
    QTest::newRow("hostile") << "0-99999999999" << QList<int>{};
  }
  void cpuLists() {
    QFETCH(QString, text);
    const std::vector<int> indices = parseCpuList(text.toStdString());
    QTEST(QList<int>(indices.begin(), indices.end()), "expected");
  }

  void instructionSets() {
    CpuidRegisters everything;
    everything.leaf1Ecx = everything.leaf7Ebx = everything.leaf7Ecx = everything.leaf7Edx = ~0u;
    everything.leaf7Sub1Eax = ~0u;
    everything.xcr0 = ~0ull;
    QCOMPARE(decodeInstructionSets(everything), (InstructionSets{true, true, true, true, true, true}));
    CpuidRegisters noZmm = everything; // the processor has AVX-512, the operating system does not save its registers
    noZmm.xcr0 = 0x7;
    QCOMPARE(decodeInstructionSets(noZmm), (InstructionSets{true, true, false, false, false, false}));
    CpuidRegisters noTiles = everything;
    noTiles.xcr0 = 0xE7;
    QCOMPARE(decodeInstructionSets(noTiles), (InstructionSets{true, true, true, true, true, false}));
    CpuidRegisters noFma = everything;
    noFma.leaf1Ecx &= ~(1u << 12);
    QVERIFY(!decodeInstructionSets(noFma).avx2);
    QCOMPARE(decodeInstructionSets({}), InstructionSets{});
  }

  void instructionSetsAgreeWithTheKernel() {
    const std::string cpuinfo = SystemFiles().text("/proc/cpuinfo").value_or("");
    const auto flags = wordsAfter(cpuinfo, "flags\t\t");
    if (flags.empty()) QSKIP("/proc/cpuinfo lists no flags here");
    const auto has = [&](std::string_view flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
    const InstructionSets sets = decodeInstructionSets(readCpuid());
    QCOMPARE(sets.sse42, has("sse4_2"));
    QCOMPARE(sets.avx2, has("avx2") && has("fma") && has("f16c"));
    QCOMPARE(sets.avx512, has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl"));
    QCOMPARE(sets.avx512Bf16, sets.avx512 && has("avx512_bf16"));
  }

  void memory() {
    FakeTree tree;
    tree.file("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         100000 kB\nMemAvailable:   12000000 kB\n"
                               "HugePages_Total:       8\nHugePages_Free:        5\nHugepagesize:       2048 kB\n");
    tree.file("/proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                                   "Max locked memory         8388608              unlimited            bytes     \n");
    tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    std::vector<std::string> unknown;
    const MemoryFacts memory = readMemoryFacts(tree.files(), unknown);
    QVERIFY(unknown.empty());
    QCOMPARE(memory.total, 16000000 * KiB);
    QCOMPARE(memory.available, 12000000 * KiB);
    QCOMPARE(memory.usable, 12000000 * KiB);
    QVERIFY(!memory.groupLimit);
    QCOMPARE(*memory.lockLimit, 8 * MiB);
    QCOMPARE(memory.hugePageSize, 2 * MiB);
    QCOMPARE(memory.hugePagesFree, 5);
    QCOMPARE(memory.transparentHugePages, std::string("madvise"));
  }

  void memoryUnderALimit() {
    FakeTree tree;
    tree.file("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\n");
    tree.file("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes\n");
    tree.file("/proc/self/cgroup", "0::/\n");
    tree.file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.file("/sys/fs/cgroup/memory.max", "2147483648\n");
    tree.file("/sys/fs/cgroup/memory.current", "536870912\n");
    std::vector<std::string> unknown;
    const MemoryFacts memory = readMemoryFacts(tree.files(), unknown);
    QCOMPARE(*memory.groupLimit, 2 * GiB);
    QCOMPARE(memory.usable, 2 * GiB - 512 * MiB);
    QVERIFY(!memory.lockLimit);
    QVERIFY(unknown.empty());
  }

  void missingMemoryFilesAreSaid() {
    std::vector<std::string> unknown;
    QCOMPARE(readMemoryFacts(FakeTree().files(), unknown).usable, Bytes{0});
    QCOMPARE(unknown.size(), std::size_t{2});
  }

  void diskBehindAFolder_data() {
    QTest::addColumn<QString>("mount");
    QTest::addColumn<QString>("device");
    QTest::addColumn<QString>("fileSystem");
    QTest::newRow("partition") << "40 1 259:2 / %1 rw - ext4 /dev/nvme0n1p2 rw"
                               << "nvme0n1"
                               << "ext4";
    QTest::newRow("whole disk") << "40 1 8:16 / %1 rw - xfs /dev/sdb rw"
                                << "sdb"
                                << "xfs";
    QTest::newRow("btrfs, device by its source") << "40 1 0:33 /@home %1 rw - btrfs /dev/sdb rw"
                                                 << "sdb"
                                                 << "btrfs";
    QTest::newRow("mapper") << "40 1 0:34 / %1 rw - btrfs /dev/mapper/vault rw"
                            << "dm-0"
                            << "btrfs";
    QTest::newRow("no device") << "40 1 0:40 / %1 rw - tmpfs tmpfs rw"
                               << ""
                               << "tmpfs";
    QTest::newRow("hidden by a later mount")
        << "40 1 8:16 / %1 rw - xfs /dev/sdb rw\n41 40 0:40 / %1 rw - tmpfs tmpfs rw"
        << ""
        << "tmpfs";
  }
  void diskBehindAFolder() {
    QFETCH(QString, mount);
    QTemporaryDir data;
    const std::string folder = std::filesystem::canonical(data.path().toStdString()).string();
    FakeTree tree;
    tree.file("/proc/self/mountinfo", "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n39 1 8:1 / " + folder +
                                          "-longer rw - ext4 /dev/sda1 rw\n" +
                                          mount.arg(QString::fromStdString(folder)).toStdString() + "\n");
    tree.file("/sys/devices/pci0/nvme0n1/nvme0n1p2/partition", "2\n");
    tree.link("/sys/dev/block/259:2", "/sys/devices/pci0/nvme0n1/nvme0n1p2");
    tree.folder("/sys/devices/pci0/sdb");
    tree.link("/sys/dev/block/8:16", "/sys/devices/pci0/sdb");
    tree.link("/sys/class/block/sdb", "/sys/devices/pci0/sdb");
    tree.folder("/sys/devices/virtual/dm-0");
    tree.link("/sys/class/block/dm-0", "/sys/devices/virtual/dm-0");
    tree.file("/dev/dm-0", "");
    tree.link("/dev/mapper/vault", "/dev/dm-0");
    tree.file("/sys/block/nvme0n1/queue/rotational", "0\n");
    tree.file("/sys/block/nvme0n1/device/model", "Fast 1TB   \n");
    tree.file("/sys/block/sdb/queue/rotational", "1\n");
    // The folder need not exist yet.
    const auto disk = readDiskFacts(tree.files(), Path(folder) / "run" / "deep");
    QVERIFY2(disk.has_value(), disk ? "" : disk.error().message.c_str());
    QTEST(QString::fromStdString(disk->device), "device");
    QTEST(QString::fromStdString(disk->fileSystem), "fileSystem");
    QCOMPARE(disk->mountPoint, folder);
    QVERIFY(disk->total > 0);
    QVERIFY(disk->free > 0 && disk->free <= disk->total);
    if (disk->device == "nvme0n1") {
      QCOMPARE(disk->model, std::string("Fast 1TB"));
      QVERIFY(disk->kind == DiskKind::Nvme);
    }
    if (disk->device == "sdb") QVERIFY(disk->kind == DiskKind::Hdd);
    if (disk->fileSystem == "tmpfs") QVERIFY(disk->kind == DiskKind::Memory);
    QVERIFY(!disk->network);
  }

  void kindOfDisk_data() {
    QTest::addColumn<QString>("device"); // of the mounted file system
    QTest::addColumn<DiskKind>("kind");
    const auto row = [](const char* name, const char* device, DiskKind kind) {
      QTest::newRow(name) << QString(device) << kind;
    };
    row("nvme", "nvme0n1", DiskKind::Nvme);
    row("solid state", "sda", DiskKind::Ssd);
    row("rotating", "sdb", DiskKind::Hdd);
    row("virtual, says rotating", "vda", DiskKind::Unknown);
    row("virtual, says solid state", "vdb", DiskKind::Ssd);
    row("virtual by its model", "sdc", DiskKind::Unknown);
    row("says nothing", "sdd", DiskKind::Unknown);
    row("encrypted nvme", "dm-0", DiskKind::Nvme);
    row("volume on an array of nvme and rotating", "dm-1", DiskKind::Hdd);
    row("array of two nvme", "md1", DiskKind::Nvme);
    row("array with a part that is not known", "md2", DiskKind::Unknown);
    row("mapped, parts not told", "dm-2", DiskKind::Unknown);
    row("file as a disk", "loop0", DiskKind::Unknown);
    row("compressed memory", "zram0", DiskKind::Memory);
    row("network block device", "nbd0", DiskKind::Network);
    row("rings end", "dm-8", DiskKind::Unknown);
  }
  void kindOfDisk() {
    QFETCH(QString, device);
    QFETCH(DiskKind, kind);
    QTemporaryDir data;
    const std::string folder = std::filesystem::canonical(data.path().toStdString()).string();
    FakeTree tree;
    const auto disk = [&](const std::string& name, const char* rotational, const char* model = "") {
      tree.folder("/sys/devices/x/" + name);
      tree.link("/sys/class/block/" + name, "/sys/devices/x/" + name);
      tree.link("/sys/block/" + name, "/sys/devices/x/" + name);
      if (*rotational) tree.file("/sys/devices/x/" + name + "/queue/rotational", rotational);
      if (*model) tree.file("/sys/devices/x/" + name + "/device/model", model);
    };
    const auto over = [&](const std::string& name, const std::vector<std::string>& parts) {
      for (const std::string& part : parts) tree.folder("/sys/devices/x/" + name + "/slaves/" + part);
    };
    for (const char* name : {"nvme0n1", "nvme1n1"}) disk(name, "0\n", "Fast");
    disk("sda", "0\n");
    disk("sdb", "1\n");
    disk("sdc", "1\n", "Virtual Disk    ");
    disk("sdd", "");
    disk("vda", "1\n");
    disk("vdb", "0\n");
    for (const char* name : {"dm-0", "dm-1", "dm-2", "dm-8", "dm-9", "md0", "md1", "md2", "loop0", "zram0"})
      disk(name, "0\n");
    disk("nbd0", "1\n");
    tree.file("/sys/devices/x/nvme0n1/nvme0n1p2/partition", "2\n");
    tree.link("/sys/class/block/nvme0n1p2", "/sys/devices/x/nvme0n1/nvme0n1p2");
    over("dm-0", {"nvme0n1p2"});
    over("md0", {"nvme1n1", "sdb"});
    over("dm-1", {"md0"});
    over("md1", {"nvme0n1p2", "nvme1n1"});
    over("md2", {"nvme1n1", "vda"});
    over("dm-8", {"dm-9"});
    over("dm-9", {"dm-8"});
    tree.link("/sys/dev/block/8:1", "/sys/devices/x/" + device.toStdString());
    tree.file("/proc/self/mountinfo", "40 1 8:1 / " + folder + " rw - ext4 /dev/any rw\n");
    const auto facts = readDiskFacts(tree.files(), folder);
    QVERIFY(facts.has_value());
    QCOMPARE(QString::fromStdString(facts->device), device);
    QVERIFY2(facts->kind == kind, std::to_string(static_cast<int>(facts->kind)).c_str());
    QCOMPARE(facts->network, kind == DiskKind::Network);
    if (device == "dm-0") QCOMPARE(facts->model, std::string("Fast"));
  }

  void networkMount_data() {
    QTest::addColumn<bool>("network");
    for (const char* type : {"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "virtiofs", "fuse.sshfs"})
      QTest::newRow(type) << true;
    for (const char* type : {"ext4", "xfs", "overlay", "zfs", "fuse.mergerfs", "nfsd"}) QTest::newRow(type) << false;
  }
  void networkMount() {
    QFETCH(bool, network);
    const std::string type = QTest::currentDataTag();
    QTemporaryDir data;
    const std::string folder = std::filesystem::canonical(data.path().toStdString()).string();
    FakeTree tree;
    tree.file("/proc/self/mountinfo", "40 1 0:50 / " + folder + " rw - " + type + " server:/share rw\n");
    const auto disk = readDiskFacts(tree.files(), folder);
    QVERIFY(disk.has_value());
    QCOMPARE(disk->network, network);
    QCOMPARE(disk->kind == DiskKind::Network, network);
    QCOMPARE(disk->fileSystem, type);
  }
};

QTEST_GUILESS_MAIN(TestHardwareFacts)
#include "test_hardware_facts.moc"

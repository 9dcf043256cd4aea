// What the driver tells of its GPUs, from a made-up driver: memory, who holds it, links, displays; and what is said
// where it does not tell.
#include "hardware/detect.h"
#include "hardware/fake_nvml.h"
#include "hardware/fake_tree.h"
#include "hardware/nvidia.h"
#include "hardware/nvml.h"

#include <QtTest>
#include <functional>

using namespace millrace;

namespace {

constexpr unsigned long long mega = 1ULL << 20;

using Change = std::function<void(FakeNvml&, NvmlApi&)>;

struct Outcome {
  Status status;
  NvidiaFacts nvidia;
  std::vector<std::string> unknown;
};

Outcome read(FakeNvml& nvml, const NvmlApi& api, const FakeTree& tree) {
  Outcome outcome;
  outcome.nvidia = readNvidiaFacts(tree.files());
  outcome.status = addNvmlFacts(api, tree.files(), outcome.nvidia, outcome.unknown);
  (void)nvml;
  return outcome;
}

void addCard(FakeTree& tree, const std::string& address) {
  const std::string folder = "/sys/bus/pci/devices/" + address;
  tree.file(folder + "/vendor", "0x10de\n");
  tree.file(folder + "/class", "0x030200\n");
  tree.file(folder + "/device", "0x2335\n");
}

HardwareSources sourcesOf(const FakeTree& tree) {
  HardwareSources sources;
  sources.root = tree.root();
  sources.topologyXml = Path(MILLRACE_SOURCE_DIR) / "tests/hardware/data/two_packages.xml";
  return sources;
}

bool mentions(const std::vector<std::string>& lines, const QString& words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return QString::fromStdString(line).contains(words); });
}

} // namespace

class TestNvml : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everythingTold() {
    FakeTree tree;
    addCard(tree, "0000:17:00.0");
    tree.file("/sys/bus/pci/devices/0000:17:00.0/numa_node", "1\n");
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    const Outcome outcome = read(nvml, nvml.api(), tree);
    QVERIFY(outcome.status.has_value());
    QVERIFY2(outcome.unknown.empty(), outcome.unknown.empty() ? "" : outcome.unknown[0].c_str());
    QCOMPARE(outcome.nvidia.driverVersion, std::string("570.86.15"));
    QCOMPARE(outcome.nvidia.gpus.size(), std::size_t{1});
    const GpuFacts& gpu = outcome.nvidia.gpus[0];
    QCOMPARE(gpu.index, 0);
    QCOMPARE(gpu.pciAddress, std::string("0000:17:00.0"));
    QCOMPARE(gpu.name, std::string("NVIDIA H200"));
    QCOMPARE(gpu.uuid, std::string("GPU-12345678-abcd"));
    QCOMPARE(gpu.memoryTotal, 143771 * MiB);
    QCOMPARE(gpu.memoryFree, 143000 * MiB);
    QVERIFY(gpu.processes.empty());
    QVERIFY(gpu.capability == (ComputeCapability{9, 0}));
    QVERIFY(gpu.link == (PciLink{1, 16}));
    QVERIFY(gpu.maximalLink == (PciLink{5, 16}));
    QCOMPARE(gpu.numaNode, std::optional<int>(1));
    QVERIFY(!gpu.displayAttached);
    QCOMPARE(gpu.powerLimit, 700.0);
    QCOMPARE(nvml.initialised, 1);
    QCOMPARE(nvml.sessions, 0);
  }

  void inUseByOthers() {
    FakeNvml nvml;
    FakeGpu busy;
    busy.memory.free = 3000 * mega;
    busy.compute = {{4242, 100'000 * mega, ~0u, ~0u}, {9001, nvmlValueNotAvailable, ~0u, ~0u}};
    busy.graphics = {{77, 300 * mega, ~0u, ~0u}, {4242, 100'000 * mega, ~0u, ~0u}};
    nvml.gpus = {busy};
    FakeTree tree;
    tree.file("/proc/9001/comm", "secret\n");
    const Outcome outcome = read(nvml, nvml.api(), tree);
    QVERIFY(outcome.status && outcome.unknown.empty());
    const GpuFacts& gpu = outcome.nvidia.gpus.at(0);
    QCOMPARE(gpu.memoryFree, 3000 * MiB);
    QCOMPARE(gpu.processes.size(), std::size_t{3}); // the one that computes and draws counts once
    QVERIFY(gpu.processes[0] == (GpuProcess{4242, "python3", 100'000 * MiB}));
    QVERIFY(gpu.processes[1] == (GpuProcess{77, "Xorg", 300 * MiB}));
    QVERIFY(gpu.processes[2] == (GpuProcess{9001, "secret", std::nullopt}));
  }

  void moreProcessesThanRoom() {
    FakeNvml nvml;
    FakeGpu busy;
    for (unsigned i = 0; i < 500; ++i) busy.compute.push_back({100 + i, mega, ~0u, ~0u});
    nvml.gpus = {busy};
    const Outcome outcome = read(nvml, nvml.api(), FakeTree());
    QCOMPARE(outcome.nvidia.gpus.at(0).processes.size(), std::size_t{500});
    QVERIFY(outcome.unknown.empty());
  }

  void display_data() {
    QTest::addColumn<int>("mode");
    QTest::addColumn<int>("active");
    QTest::addColumn<bool>("attached");
    QTest::newRow("none") << 0 << 0 << false;
    QTest::newRow("a screen") << 1 << 0 << true;
    QTest::newRow("a desktop without a screen") << 0 << 1 << true;
    QTest::newRow("both") << 1 << 1 << true;
  }
  void display() {
    QFETCH(int, mode);
    QFETCH(int, active);
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    nvml.gpus[0].displayMode = mode;
    nvml.gpus[0].displayActive = active;
    QTEST(read(nvml, nvml.api(), FakeTree()).nvidia.gpus.at(0).displayAttached, "attached");
  }

  void cardsAreMatchedByAddress() {
    FakeTree tree;
    for (const char* address : {"0000:17:00.0", "0000:9b:00.0", "0001:03:00.0"}) addCard(tree, address);
    FakeNvml nvml; // a container that was given one of three, and one that the bus does not show
    nvml.gpus.resize(2);
    nvml.gpus[0].busId = "00000000:9B:00.0";
    nvml.gpus[1].busId = "00010000:01:00.0";
    nvml.gpus[1].deviceId = 0x268410DE;
    const Outcome outcome = read(nvml, nvml.api(), tree);
    QVERIFY(outcome.status.has_value());
    const auto& gpus = outcome.nvidia.gpus;
    QCOMPARE(gpus.size(), std::size_t{4});
    QCOMPARE(gpus[0].index, -1);
    QCOMPARE(gpus[0].memoryTotal, Bytes{0});
    QCOMPARE(gpus[1].pciAddress, std::string("0000:9b:00.0"));
    QCOMPARE(gpus[1].index, 0);
    QCOMPARE(gpus[2].pciAddress, std::string("0001:03:00.0"));
    QCOMPARE(gpus[2].index, -1);
    QCOMPARE(gpus[3].pciAddress, std::string("10000:01:00.0"));
    QCOMPARE(gpus[3].index, 1);
    QCOMPARE(gpus[3].deviceId, std::string("2684"));
  }

  void busAddresses_data() {
    QTest::addColumn<QString>("busId");
    QTest::addColumn<QString>("address");
    QTest::newRow("long") << "00000000:9B:00.0"
                          << "0000:9b:00.0";
    QTest::newRow("domain 1") << "00000001:9B:00.0"
                              << "0001:9b:00.0";
    QTest::newRow("domain of five digits") << "00010000:01:00.0"
                                           << "10000:01:00.0";
    QTest::newRow("short") << "0000:9b:00.0"
                           << "0000:9b:00.0";
    QTest::newRow("empty") << ""
                           << "";
    QTest::newRow("zeros") << "00000000:00:00.0"
                           << "0000:00:00.0";
  }
  void busAddresses() {
    QFETCH(QString, busId);
    QTEST(QString::fromStdString(busAddress(busId.toStdString())), "address");
  }

  void cannotBeUsed_data() {
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("words");
    QTest::newRow("driver not loaded") << int{nvmlDriverNotLoaded} << "Driver Not Loaded (NVML 9)";
    QTest::newRow("driver updated, not restarted") << int{nvmlVersionMismatch} << "version mismatch (NVML 18)";
    QTest::newRow("no permission") << int{nvmlNoPermission} << "Insufficient Permissions";
  }
  void cannotBeUsed() {
    QFETCH(int, code);
    QFETCH(QString, words);
    FakeTree tree;
    addCard(tree, "0000:17:00.0");
    tree.file("/sys/bus/pci/devices/0000:17:00.0/max_link_speed", "16.0 GT/s PCIe\n");
    tree.file("/sys/bus/pci/devices/0000:17:00.0/max_link_width", "8\n");
    FakeNvml nvml;
    nvml.initCode = code;
    HardwareSources sources = sourcesOf(tree);
    sources.nvml = nvml.api();
    const HardwareProfile profile = detectHardware({}, sources);
    QVERIFY(mentions(profile.unknown, words));
    QVERIFY(mentions(profile.unknown, "memory and processes of NVIDIA GPUs"));
    QCOMPARE(profile.nvidia.gpus.size(), std::size_t{1}); // what the bus shows stays
    QCOMPARE(profile.nvidia.gpus[0].memoryTotal, Bytes{0});
    QVERIFY(profile.nvidia.gpus[0].maximalLink == (PciLink{4, 8}));
    QCOMPARE(nvml.sessions, 0);
  }

  void toldInPart_data() {
    QTest::addColumn<Change>("change");
    QTest::addColumn<QString>("words"); // in `unknown`; empty: nothing is said
    const auto row = [](const char* name, const char* words, Change change) {
      QTest::newRow(name) << change << QString(words);
    };
    row("an old driver without newer functions",
        "computing processes, drawing processes of GPU 0: the driver's library",
        [](FakeNvml&, NvmlApi& api) { api.computeProcesses = api.graphicsProcesses = nullptr; });
    row("no function at all but the necessary ones", "UUID", [](FakeNvml&, NvmlApi& api) {
      NvmlApi bare;
      bare.init = api.init;
      bare.shutdown = api.shutdown;
      bare.errorString = api.errorString;
      bare.deviceCount = api.deviceCount;
      bare.deviceByIndex = api.deviceByIndex;
      bare.pciInfo = api.pciInfo;
      bare.memoryInfo = api.memoryInfo;
      api = bare;
    });
    row("no permission to see processes", "computing processes of GPU 0: Insufficient Permissions",
        [](FakeNvml& nvml, NvmlApi&) { nvml.gpus[0].processCode = nvmlNoPermission; });
    row("processes not supported", "", [](FakeNvml& nvml, NvmlApi&) { nvml.gpus[0].processCode = nvmlNotSupported; });
    row("a virtual GPU has no link", "", [](FakeNvml& nvml, NvmlApi&) { nvml.gpus[0].hasLink = false; });
    row("divided into instances", "MIG", [](FakeNvml& nvml, NvmlApi&) { nvml.gpus[0].mig = 1; });
  }
  void toldInPart() {
    QFETCH(Change, change);
    QFETCH(QString, words);
    FakeTree tree;
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    NvmlApi api = nvml.api();
    change(nvml, api);
    const Outcome outcome = read(nvml, api, tree);
    QVERIFY(outcome.status.has_value());
    QCOMPARE(outcome.nvidia.gpus.at(0).memoryTotal, 143771 * MiB); // the rest is there
    QCOMPARE(outcome.unknown.empty(), words.isEmpty());
    if (!words.isEmpty()) QVERIFY2(mentions(outcome.unknown, words), outcome.unknown[0].c_str());
    QCOMPARE(nvml.sessions, 0);
  }

  void memoryNotTold_data() {
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("words");
    QTest::newRow("shared with the processor") << int{nvmlNotSupported} << "shared with the processor";
    QTest::newRow("failing") << int{nvmlUnknownError} << "Unknown Error (NVML 999)";
  }
  void memoryNotTold() {
    QFETCH(int, code);
    QFETCH(QString, words);
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    nvml.gpus[0].memoryCode = code;
    const Outcome outcome = read(nvml, nvml.api(), FakeTree());
    QCOMPARE(outcome.nvidia.gpus.at(0).memoryTotal, Bytes{0});
    QVERIFY(mentions(outcome.unknown, words));
  }

  void oneLostGpuHidesNoOther() {
    FakeNvml nvml;
    nvml.gpus.resize(2);
    nvml.gpus[0].handleCode = nvmlGpuIsLost;
    nvml.gpus[1].busId = "00000000:18:00.0";
    const Outcome outcome = read(nvml, nvml.api(), FakeTree());
    QVERIFY(outcome.status.has_value());
    QCOMPARE(outcome.nvidia.gpus.size(), std::size_t{1});
    QCOMPARE(outcome.nvidia.gpus[0].index, 1);
    QVERIFY(mentions(outcome.unknown, "GPU 0: GPU is lost"));
  }

  void freeIsNeverMoreThanTotal() {
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    nvml.gpus[0].memory = {1000 * mega, ~0ULL, 0};
    QCOMPARE(read(nvml, nvml.api(), FakeTree()).nvidia.gpus.at(0).memoryFree, 1000 * MiB);
  }

  void noGpuNothingSaid() {
    FakeNvml nvml;
    nvml.initCode = nvmlDriverNotLoaded;
    FakeTree tree;
    HardwareSources sources = sourcesOf(tree);
    sources.nvml = nvml.api();
    const HardwareProfile profile = detectHardware({}, sources);
    QVERIFY(profile.nvidia.gpus.empty());
    QVERIFY(!mentions(profile.unknown, "NVIDIA"));
  }

  void cardForVirtualMachinesNeedsNoDriver() {
    FakeTree tree;
    addCard(tree, "0000:17:00.0");
    tree.folder("/sys/bus/pci/drivers/vfio-pci");
    tree.link("/sys/bus/pci/devices/0000:17:00.0/driver", "/sys/bus/pci/drivers/vfio-pci");
    const HardwareProfile profile = detectHardware({}, sourcesOf(tree));
    QCOMPARE(profile.nvidia.gpus.size(), std::size_t{1});
    QVERIFY(!mentions(profile.unknown, "NVIDIA"));
  }

  void underWindows() {
    FakeTree tree;
    tree.file("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
    tree.file("/dev/dxg", "");
    FakeNvml nvml;
    nvml.gpus = {FakeGpu()};
    HardwareSources sources = sourcesOf(tree);
    sources.nvml = nvml.api();
    const HardwareProfile profile = detectHardware({}, sources);
    QVERIFY(profile.wsl);
    QCOMPARE(profile.nvidia.gpus.size(), std::size_t{1});
    QVERIFY(profile.nvidia.gpus[0].displayAttached); // the Windows desktop

    nvml.initCode = nvmlDriverNotLoaded; // another maker's GPU
    const HardwareProfile other = detectHardware({}, sources);
    QVERIFY(other.wsl && other.nvidia.gpus.empty());
    QVERIFY(!mentions(other.unknown, "NVIDIA"));
  }

  void libraries_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("words");
    QTest::newRow("absent") << "libnvidia-ml-that-is-not-there.so.1"
                            << "cannot be loaded: libnvidia-ml-that-is-not-there.so.1";
    QTest::newRow("without the functions") << "libc.so.6"
                                           << "has no function nvmlInit_v2: the driver is too old";
  }
  void libraries() {
    QFETCH(QString, file);
    QFETCH(QString, words);
    const auto library = NvmlLibrary::open(file.toUtf8().constData());
    QVERIFY(!library);
    QVERIFY2(QString::fromStdString(library.error().message).contains(words), library.error().message.c_str());
  }

  void ofThisMachine() {
    const auto library = NvmlLibrary::open();
    if (!library) QSKIP("no NVIDIA driver here");
    NvidiaFacts nvidia = readNvidiaFacts(SystemFiles());
    std::vector<std::string> unknown;
    const Status status = addNvmlFacts(library->api(), SystemFiles(), nvidia, unknown);
    if (!status) QSKIP(status.error().message.c_str());
    for (const GpuFacts& gpu : nvidia.gpus) {
      if (gpu.index < 0) continue;
      QVERIFY(!gpu.name.empty() && gpu.uuid.starts_with("GPU-"));
      QVERIFY(gpu.memoryFree <= gpu.memoryTotal);
      QCOMPARE(gpu.pciAddress.size(), std::size_t{12});
    }
  }
};

QTEST_GUILESS_MAIN(TestNvml)
#include "test_nvml.moc"

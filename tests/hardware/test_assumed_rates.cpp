// Rates in place of those that nobody measured: from the library where the card is known, never over a measured one.
#include "engine/machines.h"
#include "hardware/rate_text.h"
#include "support/memory_file_system.h"

#include <QtTest>

using namespace millrace;

namespace {

GpuFacts card(const std::string& name, PciLink link = {5, 16}, double power = 0) {
  GpuFacts gpu;
  gpu.name = name;
  gpu.memoryTotal = 24 * GiB;
  gpu.maximalLink = link;
  gpu.powerLimit = power;
  return gpu;
}

HardwareProfile with(const GpuFacts& gpu) {
  HardwareProfile profile;
  profile.memory.total = 64 * GiB;
  profile.cpu.usableCores = 8;
  profile.nvidia.gpus = {gpu};
  return profile;
}

} // namespace

class TestAssumedRates : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void knownCards_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("machine"); // empty: not known
    QTest::newRow("RTX 4090") << "NVIDIA GeForce RTX 4090"
                              << "rtx-4090";
    QTest::newRow("by hand") << "rtx 3090"
                             << "rtx-3090";
    QTest::newRow("A100") << "NVIDIA A100-SXM4-80GB"
                          << "a100";
    QTest::newRow("A100 PCIe") << "NVIDIA A100 80GB PCIe"
                               << "a100";
    QTest::newRow("H100") << "NVIDIA H100 80GB HBM3"
                          << "h100";
    QTest::newRow("GH200") << "NVIDIA GH200 480GB"
                           << "gh200";
    QTest::newRow("laptop") << "NVIDIA GeForce RTX 4090 Laptop GPU"
                            << "";
    QTest::newRow("a part") << "NVIDIA H100 MIG 1g.10gb"
                            << "";
    QTest::newRow("another") << "NVIDIA L40S"
                             << "";
    QTest::newRow("longer number") << "NVIDIA A1000"
                                   << "";
    QTest::newRow("no name") << ""
                             << "";
  }
  void knownCards() {
    QFETCH(QString, name);
    QFETCH(QString, machine);
    const HardwareProfile profile = withAssumedRates(with(card(name.toStdString())));
    const DeviceRates& rates = profile.nvidia.gpus[0].rates;
    QVERIFY(rates.copyIn.known() && rates.copyBoth.perSecond > rates.copyIn.perSecond);
    QVERIFY(rates.copyIn.origin == RateOrigin::Assumed);
    QCOMPARE(rates.gemmBf16.known(), !machine.isEmpty());
    if (machine.isEmpty()) {
      QCOMPARE(rates.copyIn.source, std::string("PCIe 5 x16"));
      return;
    }
    QCOMPARE(QString::fromStdString(rates.gemmBf16.source), machine);
    test::MemoryFileSystem files;
    const auto shipped = findMachine(files, machine.toStdString());
    QCOMPARE(rates.gemmBf16.perSecond, shipped->nvidia.gpus[0].rates.gemmBf16.perSecond);
    QCOMPARE(rates.copyIn.perSecond, shipped->nvidia.gpus[0].rates.copyIn.perSecond);
  }

  void slotsAndPowerLimits() {
    const auto rates = [](PciLink link, double power) {
      return withAssumedRates(with(card("NVIDIA GeForce RTX 4090", link, power))).nvidia.gpus[0].rates;
    };
    const DeviceRates whole = rates({4, 16}, 450);
    const DeviceRates narrow = rates({4, 8}, 450);
    QVERIFY(qFuzzyCompare(narrow.copyIn.perSecond, whole.copyIn.perSecond / 2));
    QVERIFY(qFuzzyCompare(narrow.copyBoth.perSecond, whole.copyBoth.perSecond / 2));
    QCOMPARE(narrow.gemmBf16, whole.gemmBf16);
    QCOMPARE(rates({0, 0}, 0), whole);    // not known: as in the library
    QCOMPARE(rates({5, 16}, 600), whole); // no faster than the library's
    const DeviceRates quarter = rates({4, 16}, 450.0 / 4);
    QVERIFY(qFuzzyCompare(quarter.gemmBf16.perSecond, whole.gemmBf16.perSecond / 2));
    QCOMPARE(quarter.copyIn, whole.copyIn);
  }

  void whatIsKnownStays() {
    HardwareProfile profile = with(card("NVIDIA H200"));
    const Rate measured{1e9, RateOrigin::Measured, "probe", "2025-01-01T00:00:00Z"};
    profile.nvidia.gpus[0].rates.copyIn = measured;
    profile.hostRates.memory = {56e9, RateOrigin::Entered, "me", ""};
    profile.disks.resize(1);
    profile.disks[0].rates.write = measured;
    const HardwareProfile filled = withAssumedRates(profile);
    QVERIFY(filled.nvidia.gpus[0].rates.copyIn == measured);
    QVERIFY(filled.nvidia.gpus[0].rates.copyOut.origin == RateOrigin::Assumed);
    QVERIFY(filled.hostRates.memory == profile.hostRates.memory);
    QCOMPARE(filled.hostRates.adamW.perSecond, 56e9 * 0.95 / 28); // from what was entered
    QVERIFY(filled.disks[0].rates.write == measured);
    QVERIFY(filled.disks[0].rates.read.known());
    QVERIFY(withAssumedRates(filled) == filled);
  }

  void disksByKind() {
    HardwareProfile profile;
    for (const DiskKind kind : {DiskKind::Nvme, DiskKind::Ssd, DiskKind::Hdd, DiskKind::Network, DiskKind::Unknown}) {
      profile.disks.emplace_back();
      profile.disks.back().kind = kind;
    }
    const auto disks = withAssumedRates(profile).disks;
    for (std::size_t i = 0; i + 2 < disks.size(); ++i)
      QVERIFY(disks[i].rates.read.perSecond > disks[i + 1].rates.read.perSecond);
    QVERIFY(disks[4].rates.read.known() && disks[4].rates.write.known());
  }

  void processors() {
    const auto rates = [](int cores, InstructionSets sets) {
      HardwareProfile profile;
      profile.cpu.usableCores = cores;
      profile.cpu.instructionSets = sets;
      profile.memory.total = 64 * GiB;
      return withAssumedRates(profile);
    };
    InstructionSets avx2, avx512, amx;
    avx2.avx2 = avx512.avx2 = amx.avx2 = true;
    avx512.avx512 = amx.avx512 = amx.amxBf16 = true;
    const auto fp32 = [&](int cores, InstructionSets sets) { return rates(cores, sets).cpuRates.gemmFp32.perSecond; };
    QVERIFY(fp32(4, {}) < fp32(4, avx2) && fp32(4, avx2) < fp32(4, avx512));
    QVERIFY(qFuzzyCompare(fp32(8, avx2), 2 * fp32(4, avx2)));
    QVERIFY(rates(4, avx512).cpuRates.gemmBf16.perSecond < rates(4, amx).cpuRates.gemmBf16.perSecond);
    // Memory does not grow with cores for ever.
    QVERIFY(rates(1, avx2).hostRates.memory.perSecond < rates(4, avx2).hostRates.memory.perSecond);
    QCOMPARE(rates(64, avx2).hostRates.memory.perSecond, rates(16, avx2).hostRates.memory.perSecond);
  }

  void everyRateOfAnEmptyProfile() {
    const HardwareProfile profile = withAssumedRates(HardwareProfile());
    const auto known = [](const Rate& rate, const char* key, const char*, RateUnit) { QVERIFY2(rate.known(), key); };
    const HostRates& host = profile.hostRates;
    QVERIFY(host.memory.known() && host.adamW.known() && host.adamWBesideCopies.known());
    QVERIFY(!host.adamWSplit.known()); // as fast as on whole weights: the rate of those stands, whoever gave it
    visitDeviceRates(profile.cpuRates, known);
  }
};

QTEST_GUILESS_MAIN(TestAssumedRates)
#include "test_assumed_rates.moc"

// What computes, chosen on machines that are made up: which GPU "auto" takes, what is refused and why.
#include "run/device_choice.h"

#include <QtTest>
#include <fmt/format.h>

using namespace millrace;

namespace {

constexpr int cuda = 1300;

GpuFacts gpu(int index, Bytes free) {
  GpuFacts facts;
  facts.index = index;
  facts.pciAddress = fmt::format("0000:{}7:00.0", index + 1);
  facts.name = fmt::format("Card {}", index);
  facts.boundDriver = "nvidia";
  facts.memoryTotal = 80 * GiB;
  facts.memoryFree = free;
  facts.capability = ComputeCapability{9, 0};
  return facts;
}

HardwareProfile machine(const std::vector<GpuFacts>& gpus) {
  HardwareProfile profile;
  profile.nvidia.gpus = gpus;
  profile.nvidia.driverVersion = "580.95";
  profile.nvidia.deviceNodes = true;
  return profile;
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

} // namespace

class TestDeviceChoice : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void autoTakesTheOneWithTheMostFree() {
    const auto choice =
        chooseDevice("auto", "w", machine({gpu(0, 20 * GiB), gpu(1, 70 * GiB), gpu(2, 30 * GiB)}), cuda);
    QVERIFY(choice.has_value());
    QCOMPARE(choice->gpu, 1);
    QVERIFY2(says(choice->reason, "Card 1 (cuda:1)") && says(choice->reason, "the most of 3 GPUs"),
             choice->reason.c_str());
    QCOMPARE(choice->driverBytes, assumedContext);
  }

  void autoTakesTheCpu_data() {
    QTest::addColumn<int>("release");
    QTest::addColumn<int>("card"); // what is wrong with it
    QTest::addColumn<QString>("why");
    QTest::newRow("no card") << cuda << 0 << "has no NVIDIA GPU";
    QTest::newRow("no CUDA") << 0 << 1 << "built without CUDA";
    QTest::newRow("too old") << cuda << 2 << "7.5";
    QTest::newRow("no driver") << cuda << 3 << "driver is not loaded";
    QTest::newRow("lent to a guest") << cuda << 4 << "reserved for virtual machines";
  }
  void autoTakesTheCpu() {
    QFETCH(int, release);
    QFETCH(int, card);
    QFETCH(QString, why);
    HardwareProfile profile = machine({});
    if (card > 0) profile.nvidia.gpus.push_back(gpu(0, 70 * GiB));
    if (card == 2) profile.nvidia.gpus[0].capability = ComputeCapability{7, 5};
    if (card == 3) profile.nvidia.driverVersion.clear();
    if (card == 4) profile.nvidia.gpus[0].boundDriver = "vfio-pci";
    if (card >= 3) {
      profile.nvidia.gpus[0].index = -1;
      profile.nvidia.gpus[0].memoryTotal = profile.nvidia.gpus[0].memoryFree = 0;
    }
    const auto choice = chooseDevice("auto", "w", profile, release);
    QVERIFY(choice.has_value());
    QCOMPARE(choice->gpu, -1);
    QVERIFY2(says(choice->reason, why.toStdString()), choice->reason.c_str());
    QCOMPARE(choice->driverBytes, Bytes{0});
    const auto named = chooseDevice("cuda:0", "the setting", profile, release);
    QVERIFY(!named.has_value());
    QCOMPARE(named.error().kind, ErrorKind::BadInput);
    QVERIFY2(named.error().message.starts_with("the setting is cuda:0"), named.error().message.c_str());
    QCOMPARE(chooseDevice("cpu", "w", profile, release)->gpu, -1);
  }

  void theNamedOne() {
    const HardwareProfile two = machine({gpu(1, 20 * GiB), gpu(0, 70 * GiB)});
    QCOMPARE(chooseDevice("cuda:0", "w", two, cuda)->gpu, 1); // the driver's number, not the place in the list
    QCOMPARE(chooseDevice("cuda:1", "w", two, cuda)->gpu, 0);
    const auto third = chooseDevice("cuda:2", "w", two, cuda);
    QVERIFY(!third.has_value() && says(third.error().message, "cuda:0 to cuda:1"));
    for (const char* name : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "CUDA:0"}) {
      const auto wrong = chooseDevice(name, "w", two, cuda);
      QVERIFY2(!wrong.has_value() && says(wrong.error().message, "expected auto, cpu or cuda:N"), name);
    }
  }

  void theDriversShareIsTakenOff() {
    MemoryLimits limits;
    limits.device.bytes = limits.device.free = 12 * GiB;
    QCOMPARE(withoutDriver(limits, 0).device.bytes, 12 * GiB);
    QCOMPARE(withoutDriver(limits, GiB).device.bytes, 11 * GiB);
    QCOMPARE(withoutDriver(limits, 20 * GiB).device.bytes, Bytes{0});
    // What somebody sets is for our buffers.
    limits.device.set = true;
    QCOMPARE(withoutDriver(limits, GiB).device.bytes, 11 * GiB);
    limits.device.bytes = 50 * MiB;
    QCOMPARE(withoutDriver(limits, GiB).device.bytes, 50 * MiB);
  }
};

QTEST_GUILESS_MAIN(TestDeviceChoice)
#include "test_device_choice.moc"

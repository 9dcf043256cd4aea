// All parts in turn fill the report; giving up, small memories and bad disks end as they should.
#include "probe/machine_probe.h"

#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr Bytes memory = 16 * MiB;
const std::string date = "2026-03-01T12:00:00Z";

struct Place {
  ThreadPool pool{2};
  std::unique_ptr<Device> device = createCpuDevice(pool, memory, memory);
  ProbePlace place{pool, *device, memory};
};

ProbeOptions quick() {
  ProbeOptions options;
  options.seconds = 1e-3;
  options.diskBytes = 2 * MiB;
  return options;
}

ProbeReport emptyReport() {
  ProbeReport report;
  report.measuredAt = date;
  return report;
}

bool measured(const Rate& rate) {
  return rate.known() && std::isfinite(rate.perSecond) && rate.origin == RateOrigin::Measured &&
         rate.measuredAt == date && rate.source.starts_with("probe");
}

} // namespace

class TestMachineProbe : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everythingIsMeasured() {
    QTemporaryDir folder;
    LocalFileSystem files;
    Place place;
    ProbeOptions options = quick();
    options.disk = folder.path().toStdString();
    std::vector<std::string> parts;
    options.progress = [&](const ProbeProgress& progress) {
      if (progress.done != static_cast<int>(parts.size()) || progress.parts != 7) return false;
      parts.push_back(progress.part);
      return true;
    };
    ProbeReport report = emptyReport();
    const Status status = runProbes(files, place.place, options, report);
    QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
    QCOMPARE(parts.size(), std::size_t{7});
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
      const HostRates& host = report.host(precision);
      QVERIFY(measured(host.memory) && measured(host.adamW) && measured(host.adamWBesideCopies));
    }
    QVERIFY(report.hostFp32.memory == report.hostBf16.memory);
    const DeviceRates& device = report.device;
    for (const Rate* rate :
         {&device.copyIn, &device.copyOut, &device.copyBoth, &device.gemmFp32, &device.gemmBf16, &device.memory})
      QVERIFY(measured(*rate));
    QVERIFY(!device.gemmTf32.known()); // a CPU has none
    QCOMPARE(report.disks.size(), std::size_t{1});
    QVERIFY(measured(report.disks[0].rates.read) && measured(report.disks[0].rates.write));
    QVERIFY(report.disks[0].problem.empty());
    QVERIFY(report.peakMemory > 0 && report.peakMemory <= memory);
    QVERIFY(report.seconds > 0);
    QVERIFY(QDir(folder.path()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
    QCOMPARE(place.device->memoryUse(MemorySpace::Device).used, Bytes{0});
  }

  void withoutADisk() {
    LocalFileSystem files;
    Place place;
    ProbeReport report = emptyReport();
    QVERIFY(runProbes(files, place.place, quick(), report).has_value());
    QVERIFY(report.disks.empty());
    QVERIFY(report.notes.empty() && report.failed.empty());
  }

  void canBeGivenUpBeforeEveryPart() {
    LocalFileSystem files;
    Place place;
    for (int stop = 0; stop < 6; ++stop) {
      ProbeOptions options = quick();
      int told = 0;
      options.progress = [&](const ProbeProgress& progress) {
        ++told;
        return progress.done < stop;
      };
      ProbeReport report = emptyReport();
      const Status status = runProbes(files, place.place, options, report);
      QVERIFY(!status.has_value());
      QCOMPARE(status.error().kind, ErrorKind::Interrupted);
      QCOMPARE(told, stop + 1);
      QCOMPARE(place.device->memoryUse(MemorySpace::Device).used, Bytes{0});
    }
  }

  void missingFolderIsSaidBeforeAnythingIsMeasured() {
    MemoryFileSystem files;
    Place place;
    ProbeOptions options = quick();
    options.disk = "/nowhere";
    bool told = false;
    options.progress = [&](const ProbeProgress&) { return told = true; };
    ProbeReport report = emptyReport();
    const Status status = runProbes(files, place.place, options, report);
    QVERIFY(!status.has_value());
    QCOMPARE(status.error().kind, ErrorKind::BadInput);
    QVERIFY(!told);
  }

  void aFullDiskIsANote() {
    MemoryFileSystem memoryFiles;
    QVERIFY(memoryFiles.createDirectories("/disk").has_value());
    FaultyFileSystem files(memoryFiles);
    files.setFreeSpace(0);
    Place place;
    ProbeOptions options = quick();
    options.disk = "/disk";
    ProbeReport report = emptyReport();
    const Status status = runProbes(files, place.place, options, report);
    QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
    QCOMPARE(report.disks.size(), std::size_t{1});
    QVERIFY(report.disks[0].problem.find("/disk: 0 B are free") != std::string::npos);
    QVERIFY(!report.disks[0].rates.read.known());
    QCOMPARE(report.notes.size(), std::size_t{1});
    QCOMPARE(report.failed, std::vector<std::string>{"the disk behind /disk"});
    QVERIFY(measured(report.device.memory)); // the rest stands
  }

  void aDeviceThatIsTooSmallIsANoteToo() {
    LocalFileSystem files;
    ThreadPool pool(1);
    const auto device = createCpuDevice(pool, 64 * KiB, memory);
    ProbeReport report = emptyReport();
    QVERIFY(runProbes(files, {pool, *device, memory}, quick(), report).has_value());
    QVERIFY(!report.device.gemmFp32.known() && !report.device.copyIn.known());
    QVERIFY(std::count(report.failed.begin(), report.failed.end(), "matrix products in fp32") == 1);
    QVERIFY(std::count(report.failed.begin(), report.failed.end(), "copies") == 1);
    QVERIFY(measured(report.hostFp32.adamW));
    QCOMPARE(report.notes.size(), std::size_t{5}); // copies, AdamW beside them, two kinds of products, device memory
    for (const std::string& note : report.notes) QVERIFY(note.find(": not measured: ") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestMachineProbe)
#include "test_machine_probe.moc"

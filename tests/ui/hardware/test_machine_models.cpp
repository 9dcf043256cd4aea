// What the tree and the table of the Hardware page say of a machine.
#include "hardware/machine_text.h"
#include "hardware/rate_model.h"
#include "hardware/topology_model.h"
#include "ui/hardware/machines.h"

#include <QAbstractItemModelTester>
#include <QLocale>
#include <QSignalSpy>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

/// The first row whose text in the first column is this, wherever it is.
QModelIndex find(const QAbstractItemModel& model, const QString& text, const QModelIndex& parent = {}) {
  for (int row = 0; row < model.rowCount(parent); ++row) {
    const QModelIndex index = model.index(row, 0, parent);
    if (index.data().toString() == text) return index;
    if (const QModelIndex below = find(model, text, index); below.isValid()) return below;
  }
  return {};
}

QString rateOf(const RateModel& model, const QString& subject, const QString& figure, RateModel::Column column) {
  for (int row = 0; row < model.rowCount(); ++row)
    if (model.index(row, RateModel::Subject).data() == subject && model.index(row, RateModel::Figure).data() == figure)
      return model.index(row, column).data().toString();
  return QStringLiteral("no such row");
}

QString plain(QString text) {
  return text.replace(QChar::Nbsp, u' ');
}

} // namespace

class TestMachineModels : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

  void theTreeTellsWhatIsWhere() {
    TopologyModel model;
    const QAbstractItemModelTester tester(&model);
    QCOMPARE(model.rowCount(), 0);
    const MachineLook look = gpuMachine();
    model.setTopology(look.topology, look.profile);
    QCOMPARE(model.rowCount(), 1);
    const auto detail = [&](const QModelIndex& index) {
      return plain(index.siblingAtColumn(TopologyModel::Detail).data().toString());
    };
    const QModelIndex gpu = find(model, "NVIDIA H200 (cuda:1)");
    QVERIFY(gpu.isValid());
    QCOMPARE(gpu.parent().data().toString(), QString("Package 1"));
    QCOMPARE(detail(gpu), QString("141 GiB, 139 GiB free, PCIe 5.0 x16, compute capability 9.0, at 0000:ab:00.0"));
    const QModelIndex caches = find(model, QString::fromUtf8("48 × L2 cache"));
    QCOMPARE(detail(caches), QString("2.00 MiB each"));
    QCOMPARE(detail(find(model, "Core")), QString("2 threads"));
    const QModelIndex files = find(model, "/mnt/nvme");
    QCOMPARE(files.parent().data().toString(), QString("Disk nvme0n1"));
    QCOMPARE(detail(files), QString("6.25 TiB of 6.84 TiB free, xfs, NVMe"));
    // Once more, with less room: nothing moves.
    MachineLook later = gpuMachine();
    later.profile.disks[1].free = 100 * GiB;
    QSignalSpy reset(&model, &QAbstractItemModel::modelReset), changed(&model, &QAbstractItemModel::dataChanged);
    model.setTopology(later.topology, later.profile);
    QCOMPARE(reset.count(), 0);
    QCOMPARE(changed.count(), 1);
    QCOMPARE(changed[0][0].toModelIndex(), files);
    QCOMPARE(detail(files), QString("100 GiB of 6.84 TiB free, xfs, NVMe"));
    model.setTopology(plainMachine().topology, plainMachine().profile);
    QCOMPARE(reset.count(), 1);
    QVERIFY(!find(model, "NVIDIA H200 (cuda:1)").isValid());
    QCOMPARE(model.index(0, 0).data().toString(), QString("box"));
  }

  void theTableTellsWhereFiguresAreFrom() {
    RateModel model;
    const QAbstractItemModelTester tester(&model);
    model.setProfile(gpuMachine().profile);
    QCOMPARE(model.measured(), 14);
    const QString card = "cuda:0", other = "cuda:1";
    QCOMPARE(plain(rateOf(model, card, "matrix products, bf16", RateModel::Value)), QString("742 TFLOP/s"));
    QCOMPARE(plain(rateOf(model, card, "copies in", RateModel::Value)), QString("55.2 GB/s"));
    QVERIFY(rateOf(model, card, "copies in", RateModel::Source).startsWith("measured "));
    QVERIFY(rateOf(model, other, "copies in", RateModel::Source).startsWith("assumed, from "));
    QCOMPARE(plain(rateOf(model, "Host", "AdamW", RateModel::Value)), QString("4.70 Gparam/s"));
    QVERIFY(rateOf(model, "Disk at /mnt/nvme", "reading", RateModel::Source).startsWith("measured "));
    QVERIFY(rateOf(model, "CPU", "matrix products, tf32", RateModel::Value).startsWith("no such"));

    model.setProfile(HardwareProfile());
    QCOMPARE(model.measured(), 0);
    QCOMPARE(rateOf(model, "CPU", "copies in", RateModel::Source), QString("not measured"));
    QVERIFY(rateOf(model, "Host", "AdamW, split weights", RateModel::Source).contains("as on whole weights"));
  }

  void rates_data() {
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing") << 0.0 << "0.00 B/s";
    QTest::newRow("small") << 999.4 << "999 B/s";
    QTest::newRow("rounded up") << 999.6 << "1.00 kB/s";
    QTest::newRow("usual") << 55.2e9 << "55.2 GB/s";
    QTest::newRow("huge") << 4e19 << "40,000 PB/s";
  }
  void rates() {
    QFETCH(double, value);
    QTEST(plain(byteRateText(value)), "text");
  }

  void whatMayNotBeUsedIsTold() {
    CpuFacts cpu = plainMachine().profile.cpu;
    QCOMPARE(processorText(cpu), QString("1 package, 16 cores, 32 threads, AVX-512"));
    QCOMPARE(allowanceText(cpu), QString("4 of 16 cores may be used, by /sys/fs/cgroup/job/cpu.max"));
    cpu.quota.reset(); // by affinity
    QCOMPARE(allowanceText(cpu), QString("4 of 16 cores may be used"));
    cpu.usableCores = 16;
    QVERIFY(allowanceText(cpu).isEmpty());
    QVERIFY(allowanceText(CpuFacts()).isEmpty());
  }
};

QTEST_MAIN(TestMachineModels)
#include "test_machine_models.moc"

// The Hardware page with made-up machines and loads, and with this machine measured.
#include "engine/probe.h"
#include "hardware/hardware_page.h"
#include "hardware/load_meter.h"
#include "hardware/measure_panel.h"
#include "style/elided_label.h"
#include "style/status_line.h"
#include "ui/hardware/machines.h"

#include <QComboBox>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QTreeView>
#include <QtTest>
#include <atomic>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, 60'000)

template <class Widget>
Widget* find(const QWidget& page, const char* name) {
  return page.findChild<Widget*>(QString::fromLatin1(name));
}

/// "97%", or "" while it is grey.
QString shown(const QWidget& page, const char* meter) {
  const auto* found = find<LoadMeter>(page, meter);
  return found && found->isTold() ? QString(found->value()).replace(QChar::Nbsp, u' ') : QString();
}

LoadSource always(const MachineLoad& load) {
  return [load](const auto&) { return [load] { return load; }; };
}

std::vector<LiveRun> noRuns() {
  return {};
}

} // namespace

class TestHardwarePage : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    QVERIFY(m_folder.isValid());
    qputenv("XDG_CACHE_HOME", QFile::encodeName(m_folder.path()));
    qputenv("MILLRACE_RUNS", QFile::encodeName(m_folder.path()));
  }
  void cleanup() { QThreadPool::globalInstance()->waitForDone(); }

  void aMachineWithoutAGpu() {
    MachineLoad load;
    load.cpu = 0.25;
    HardwarePage page([](const auto&) { return plainMachine(); }, always(load), &noRuns);
    page.show();
    TRY(find<ElidedLabel>(page, "machineName")->text() == "box");
    const QString facts = find<QLabel>(page, "machineFacts")->text();
    QVERIFY2(facts.contains("No NVIDIA GPU: the CPU computes") && facts.contains("4 of 16 cores"), qPrintable(facts));
    TRY(shown(page, "cpuMeter") == "25%");
    QCOMPARE(shown(page, "memoryMeter"), QString()); // grey: nobody tells it
    QVERIFY(!find<LoadMeter>(page, "utilizationMeter0"));
    const QString rates = find<StatusLine>(page, "measureMessage")->text();
    QVERIFY2(rates.startsWith("Plans are predicted from assumed figures") && rates.contains("never measured") &&
                 rates.contains("elsewhere (NVIDIA H200)") && !rates.contains("millrace bench"),
             qPrintable(rates));
    QVERIFY(find<QTreeView>(page, "topologyTree")->model()->rowCount() == 1);
    QVERIFY(find<QLabel>(page, "ratesSummary")->text().startsWith("0 of "));
    QVERIFY(!find<StatusLine>(page, "machineNotices")->isVisible());
    QVERIFY(!find<StatusLine>(page, "measureLiveRuns")->isVisible());
  }

  void gpusHaveMetersOfTheirOwn() {
    HardwarePage page([](const auto&) { return gpuMachine(); }, always(busyLoad()),
                      [] {
                        return std::vector<LiveRun>{{"goose", "/goose", true}};
                      });
    page.show();
    TRY(shown(page, "utilizationMeter0") == "97%");
    QCOMPARE(shown(page, "gpuMemoryMeter0"), QString("98.0 GiB of 141 GiB"));
    QCOMPARE(shown(page, "powerMeter0"), QString("611 of 700 W"));
    QCOMPARE(shown(page, "temperatureMeter0"), QString::fromUtf8("68 °C"));
    QCOMPARE(shown(page, "linkInMeter0"), QString("38.2 GB/s"));
    QCOMPARE(shown(page, "utilizationMeter1"), QString()); // its driver fell silent
    QVERIFY(find<LoadMeter>(page, "utilizationMeter1"));
    const auto* device = find<QComboBox>(page, "measureDevice");
    QCOMPARE(device->count(), 3);
    QCOMPARE(device->currentData().toString(), QString("cuda:0")); // what trains
    QVERIFY(find<StatusLine>(page, "measureMessage")->text().contains("were measured here"));
    TRY(find<StatusLine>(page, "measureLiveRuns")->text().contains("goose"));
    QTest::keyClick(const_cast<QComboBox*>(device), Qt::Key_Up); // the CPU
    QVERIFY(find<StatusLine>(page, "measureMessage")->text().contains("never measured"));
  }

  void whatFailsIsGreyAndComesBack() {
    std::atomic<bool> tells = true;
    HardwarePage page([](const auto&) { return gpuMachine(); },
                      [&](const auto&) -> LoadFunction { return [&] { return tells ? busyLoad() : MachineLoad(); }; },
                      &noRuns);
    page.show();
    TRY(shown(page, "utilizationMeter0") == "97%" && shown(page, "cpuMeter") == "37%");
    tells = false;
    TRY(shown(page, "utilizationMeter0").isEmpty() && shown(page, "cpuMeter").isEmpty());
    tells = true;
    TRY(shown(page, "utilizationMeter0") == "97%" && shown(page, "cpuMeter") == "37%");
  }

  /// The driver's library is held while somebody looks on, and only then; the cards are those that were found.
  void metersRunWhileThePageIsShown() {
    std::atomic<int> open = 0;
    std::atomic<std::size_t> cards = 0;
    struct Held {
      explicit Held(std::atomic<int>& counter) : count(counter) { ++count; }
      ~Held() { --count; }
      std::atomic<int>& count;
    };
    HardwarePage page([](const auto&) { return gpuMachine(); },
                      [&](const std::vector<std::string>& gpus) -> LoadFunction {
                        cards = gpus.size();
                        return [held = std::make_shared<Held>(open)] { return busyLoad(); };
                      },
                      &noRuns);
    QCOMPARE(open, 0);
    page.show();
    TRY(open == 1 && cards == 2);
    page.hide();
    TRY(open == 0);
    page.show();
    TRY(open == 1);
  }

  void looksAgain() {
    std::atomic<int> looks = 0;
    std::atomic<bool> hasDirectory = false;
    HardwarePage page(
        [&](const std::vector<std::filesystem::path>& directories) {
          hasDirectory = directories == std::vector<std::filesystem::path>{"/mnt/nvme"};
          MachineLook look = plainMachine();
          look.profile.host = "look " + std::to_string(++looks);
          if (looks > 1) look.notices = {"a card is not used: install a driver"};
          return look;
        },
        always({}), &noRuns);
    page.setDirectories({"/mnt/nvme"});
    page.show();
    TRY(find<ElidedLabel>(page, "machineName")->text() == "look 1");
    QVERIFY(hasDirectory);
    QTest::mouseClick(find<QPushButton>(page, "lookAgain"), Qt::LeftButton);
    TRY(find<ElidedLabel>(page, "machineName")->text() == "look 2");
    QVERIFY(find<StatusLine>(page, "machineNotices")->isVisible());
    QCOMPARE(find<StatusLine>(page, "machineNotices")->text(), QString("a card is not used: install a driver"));
  }

  /// For real: the figures are kept, and the page tells that they are measured.
  void measures() {
    HardwarePage page(&lookAtMachine, always({}), &noRuns);
    auto* panel = page.findChild<MeasurePanel*>();
    panel->probe().setSeconds(0.01);
    QSignalSpy measured(&page, &HardwarePage::measured);
    page.show();
    auto* begin = find<QPushButton>(page, "measureBegin");
    auto* device = find<QComboBox>(page, "measureDevice");
    TRY(begin->isEnabled());
    device->setCurrentIndex(device->findData("cpu"));
    auto* disk = find<QComboBox>(page, "measureDisk");
    disk->setCurrentIndex(disk->findData(QString())); // none
    QVERIFY(find<QLabel>(page, "ratesSummary")->text().startsWith("0 of "));
    begin->setFocus();
    QSignalSpy progressed(&panel->probe(), &MachineProbe::progressed);
    QTest::keyClick(begin, Qt::Key_Space);
    QVERIFY(!begin->isVisible() && find<QPushButton>(page, "measureCancel")->isVisible());
    QVERIFY(!device->isEnabled());
    TRY(begin->isVisible());
    QVERIFY(progressed.count() > 2);
    QCOMPARE(measured.count(), 1);
    const QString message = find<StatusLine>(page, "measureMessage")->text();
    QVERIFY2(message.startsWith("Measured on "), qPrintable(message));
    TRY(!find<QLabel>(page, "ratesSummary")->text().startsWith("0 of "));
    // What plans are made with.
    LocalFileSystem files;
    const HardwareProfile profile = withCachedRates(files, inspectMachine());
    QVERIFY(profile.cpuRates.gemmFp32.origin == RateOrigin::Measured);
    QVERIFY(profile.hostRates.adamW.origin == RateOrigin::Measured);
  }

  void measuringCanBeGivenUp() {
    QVERIFY(QDir(m_folder.path()).removeRecursively() && QDir().mkpath(m_folder.path()));
    HardwarePage page(&lookAtMachine, always({}), &noRuns);
    page.findChild<MeasurePanel*>()->probe().setSeconds(0.3);
    QSignalSpy measured(&page, &HardwarePage::measured);
    page.show();
    auto* begin = find<QPushButton>(page, "measureBegin");
    auto* cancel = find<QPushButton>(page, "measureCancel");
    TRY(begin->isEnabled());
    QTest::mouseClick(begin, Qt::LeftButton);
    QTest::mouseClick(cancel, Qt::LeftButton);
    TRY(begin->isVisible());
    QVERIFY(!cancel->isVisible());
    QVERIFY(find<StatusLine>(page, "measureMessage")->text().startsWith("Measuring was given up"));
    QCOMPARE(measured.count(), 0);
    QVERIFY(!QFile::exists(m_folder.filePath("millrace/rates.json")));
  }

  void whatCannotBeMeasuredIsTold() {
    HardwarePage page(&lookAtMachine, always({}), &noRuns);
    page.findChild<MeasurePanel*>()->probe().setSeconds(0.01);
    page.show();
    auto* begin = find<QPushButton>(page, "measureBegin");
    TRY(begin->isEnabled());
    auto* disk = find<QComboBox>(page, "measureDisk");
    disk->addItem("gone", m_folder.filePath("no/such/folder"));
    disk->setCurrentIndex(disk->count() - 1);
    QTest::mouseClick(begin, Qt::LeftButton);
    TRY(begin->isVisible());
    const auto* message = find<StatusLine>(page, "measureMessage");
    QVERIFY(message->status() == StatusKind::Bad);
    QVERIFY2(message->text().contains("no/such/folder"), qPrintable(message->text()));
  }

  /// The page may go while it works.
  void goingAwayWhileMeasuring() {
    HardwarePage page(&lookAtMachine, always({}), &noRuns);
    page.show();
    auto* begin = find<QPushButton>(page, "measureBegin");
    TRY(begin->isEnabled());
    QTest::mouseClick(begin, Qt::LeftButton);
  }

 private:
  QTemporaryDir m_folder;
};

QTEST_MAIN(TestHardwarePage)
#include "test_hardware_page.moc"

// What a run is told of its GPU while it trains, from a made-up driver: means, counters that come round, and a driver
// that tells little, nothing, or nothing any more.
#include "hardware/fake_nvml.h"
#include "hardware/gpu_monitor.h"

#include <QTest>
#include <atomic>

using namespace millrace;

namespace {

/// A card whose answers may change while the monitor looks at it.
struct Card {
  std::atomic<bool> answers = true, counts = true;
  std::atomic<unsigned> utilization = 50, milliwatts = 300'000, degrees = 61;
  std::atomic<std::uint32_t> received = 0, sent = 0, step = 0; ///< what the counters go on by at each look
  std::atomic<int> looks = 0, counted = 0;
};
Card* s_card = nullptr;

NvmlReturn answer() {
  return s_card->answers ? nvmlSuccess : nvmlGpuIsLost;
}

NvmlApi liveApi(const FakeNvml& nvml) {
  NvmlApi api = nvml.api();
  api.memoryInfo = [](NvmlDevice, NvmlMemory* memory) {
    *memory = {1000, 600, 400};
    ++s_card->looks; // the last of a look
    return answer();
  };
  api.utilization = [](NvmlDevice, NvmlUtilization* use) {
    *use = {s_card->utilization, 10};
    return answer();
  };
  api.power = [](NvmlDevice, unsigned* milliwatts) {
    *milliwatts = s_card->milliwatts;
    return answer();
  };
  api.temperature = [](NvmlDevice, int sensor, unsigned* degrees) {
    *degrees = s_card->degrees;
    return sensor == 0 ? answer() : nvmlNotSupported;
  };
  api.fieldValues = [](NvmlDevice, int count, NvmlFieldValue* fields) {
    if (!s_card->counts) return nvmlNotSupported + 0;
    for (int i = 0; i < count; ++i) {
      const bool in = fields[i].fieldId == nvmlFieldLinkReceived;
      fields[i].value = in ? s_card->received += s_card->step : s_card->sent += 2 * s_card->step;
      fields[i].code = in || fields[i].fieldId == nvmlFieldLinkSent ? nvmlSuccess : nvmlNotSupported;
    }
    ++s_card->counted;
    return answer();
  };
  return api;
}

/// With two, one look that began after this call has been taken in: the next one follows it.
bool waitForLooks(int more = 2) {
  const int wanted = s_card->looks + more;
  return QTest::qWaitFor([&] { return s_card->looks >= wanted; }, 20000);
}

} // namespace

class TestGpuMonitor : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() {
    m_card = std::make_unique<Card>();
    s_card = m_card.get();
    m_nvml.gpus = {FakeGpu()};
    m_nvml.gpus[0].busId = "00000000:03:00.0";
    m_nvml.gpus.push_back(FakeGpu());
  }

  void tells() {
    GpuMonitor monitor(liveApi(m_nvml), "0000:17:00.0");
    QVERIFY(waitForLooks());
    const auto metrics = monitor.take();
    QVERIFY(metrics.has_value());
    QCOMPARE(metrics->utilization, std::optional(0.5));
    QCOMPARE(metrics->powerWatts, std::optional(300.0));
    QCOMPARE(metrics->temperature, std::optional(61.0));
    QCOMPARE(metrics->memoryUsed, std::optional(400.0));
  }

  void meansAreOfWhatWasSeenSince() {
    GpuMonitor monitor(liveApi(m_nvml), "0000:17:00.0");
    QVERIFY(waitForLooks());
    m_card->utilization = 90;
    m_card->degrees = 70;
    QVERIFY(waitForLooks()); // the first of these may have seen the old figures
    (void)monitor.take();
    QVERIFY(waitForLooks());
    const auto metrics = monitor.take();
    QVERIFY(metrics.has_value());
    QCOMPARE(metrics->utilization, std::optional(0.9));
    QCOMPARE(metrics->temperature, std::optional(70.0));
  }

  /// Steps of more than half of what 32 bits hold: every difference passes the end or comes near it.
  void countersComeRound() {
    m_card->step = 0x6000'0000u;
    GpuMonitor monitor(liveApi(m_nvml), "0000:17:00.0");
    QVERIFY(waitForLooks(3));
    const auto metrics = monitor.take();
    QVERIFY(metrics && metrics->linkIn && metrics->linkOut);
    QVERIFY(*metrics->linkIn > 0);
    QCOMPARE(*metrics->linkOut / *metrics->linkIn, 2.0); // by the same time
    // At most a step every 30 ms; later than that on a busy machine.
    QVERIFY(*metrics->linkIn <= 0x6000'0000u / 0.0299);
  }

  void whatIsNotToldIsAbsent() {
    NvmlApi api = liveApi(m_nvml);
    api.power = nullptr;
    api.fieldValues = nullptr;
    GpuMonitor monitor(api, "0000:17:00.0");
    QVERIFY(waitForLooks());
    const auto metrics = monitor.take();
    QVERIFY(metrics && metrics->utilization && metrics->temperature && metrics->memoryUsed);
    QVERIFY(!metrics->powerWatts && !metrics->linkIn && !metrics->linkOut);
  }

  void aCardThatFallsSilent() {
    GpuMonitor monitor(liveApi(m_nvml), "0000:17:00.0");
    QVERIFY(waitForLooks());
    QVERIFY(monitor.take().has_value());
    m_card->answers = false;
    QVERIFY(waitForLooks());
    (void)monitor.take(); // may hold a look of before
    QVERIFY(waitForLooks());
    QVERIFY(!monitor.take());
    m_card->answers = true; // and comes back
    QVERIFY(waitForLooks());
    (void)monitor.take();
    QVERIFY(waitForLooks());
    QVERIFY(monitor.take().has_value());
  }

  void nothingThere_data() {
    QTest::addColumn<int>("what");
    QTest::newRow("no library") << 0;
    QTest::newRow("a driver that is not loaded") << 1;
    QTest::newRow("another card") << 2;
  }
  void nothingThere() {
    QFETCH(int, what);
    NvmlApi api;
    if (what > 0) api = liveApi(m_nvml);
    m_nvml.initCode = what == 1 ? nvmlDriverNotLoaded : nvmlSuccess;
    {
      GpuMonitor monitor(api, what == 2 ? "0000:99:00.0" : "0000:17:00.0");
      QVERIFY(!monitor.take());
    }
    m_nvml.initCode = nvmlSuccess;
    QCOMPARE(m_nvml.sessions, 0);
  }

  void shutsDown() {
    for (int i = 0; i < 20; ++i) { // also before it has found its card
      GpuMonitor monitor(liveApi(m_nvml), "0000:17:00.0");
      if (i % 2 == 0) QVERIFY(waitForLooks(1));
    }
    QCOMPARE(m_nvml.sessions, 0);
  }

 private:
  FakeNvml m_nvml;
  std::unique_ptr<Card> m_card;
};

QTEST_GUILESS_MAIN(TestGpuMonitor)
#include "test_gpu_monitor.moc"

#include "run/event_queue.h"

#include <QTest>
#include <atomic>
#include <thread>

using namespace millrace;

namespace {
RunEvent stepEvent(std::int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  return {0, step, metrics};
}
RunEvent alertEvent(std::int64_t step) {
  return {0, step, Alert{"kind", "message", "advice"}};
}
} // namespace

class TestEventQueue : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void orderIsKept() {
    EventQueue queue(100, [] {});
    for (std::int64_t i = 0; i < 50; ++i) queue.push(i % 3 ? stepEvent(i) : alertEvent(i));
    const auto drained = queue.drain();
    QCOMPARE(drained.events.size(), std::size_t{50});
    QCOMPARE(drained.dropped, std::uint64_t{0});
    for (std::int64_t i = 0; i < 50; ++i) QCOMPARE(drained.events[static_cast<std::size_t>(i)].step, i);
    QVERIFY(queue.drain().events.empty());
  }

  void oldestMetricsGoFirst() {
    EventQueue queue(10, [] {});
    for (std::int64_t i = 0; i < 100; ++i) queue.push(stepEvent(i));
    const auto drained = queue.drain();
    QCOMPARE(drained.dropped, std::uint64_t{90});
    QCOMPARE(drained.events.size(), std::size_t{10});
    QCOMPARE(drained.events.front().step, std::int64_t{90});
    QCOMPARE(drained.events.back().step, std::int64_t{99});
    QCOMPARE(queue.drain().dropped, std::uint64_t{0});
  }

  void importantEventsAreNeverDropped_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<bool>("kept");
    QTest::newRow("state") << 0 << true;
    QTest::newRow("evaluation") << 1 << true;
    QTest::newRow("checkpoint") << 2 << true;
    QTest::newRow("alert") << 3 << true;
    QTest::newRow("error line") << 4 << true;
    QTest::newRow("info line") << 5 << false;
    QTest::newRow("sample") << 6 << false;
  }
  void importantEventsAreNeverDropped() {
    QFETCH(int, kind);
    QFETCH(bool, kept);
    const std::array<RunEvent, 7> events = {RunEvent{0, 0, StateChanged{RunState::Failed, "r"}},
                                            RunEvent{0, 0, Evaluation{}},
                                            RunEvent{0, 0, CheckpointSaved{}},
                                            RunEvent{0, 0, Alert{}},
                                            RunEvent{0, 0, LogLine{Severity::Error, "e"}},
                                            RunEvent{0, 0, LogLine{Severity::Info, "i"}},
                                            RunEvent{0, 0, Sample{}}};
    EventQueue queue(4, [] {});
    const RunEvent& event = events[static_cast<std::size_t>(kind)];
    for (int i = 0; i < 20; ++i) queue.push(event);
    for (std::int64_t i = 0; i < 20; ++i) queue.push(stepEvent(i));
    const auto drained = queue.drain();
    QCOMPARE(std::count(drained.events.begin(), drained.events.end(), event), kept ? 20 : 0);
  }

  void wokenOncePerBurst() {
    int woken = 0;
    EventQueue queue(10, [&] { ++woken; });
    for (std::int64_t i = 0; i < 5; ++i) queue.push(stepEvent(i));
    QCOMPARE(woken, 1);
    (void)queue.drain();
    QCOMPARE(woken, 1);
    queue.push(stepEvent(5));
    queue.push(alertEvent(6));
    QCOMPARE(woken, 2);
  }

  void manyProducers() {
    constexpr int producers = 4;
    constexpr std::int64_t each = 5000;
    std::atomic<int> wakes{0};
    EventQueue queue(64, [&] {
      wakes.fetch_add(1);
      wakes.notify_one();
    });
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p)
      threads.emplace_back([&queue, p] {
        for (std::int64_t i = 0; i < each; ++i) queue.push(i % 10 ? stepEvent(p * each + i) : alertEvent(p * each + i));
      });
    std::vector<std::int64_t> lastOf(producers, -1);
    std::uint64_t dropped = 0;
    std::int64_t alerts = 0, steps = 0;
    int seen = 0;
    while (alerts < producers * each / 10 || steps + static_cast<std::int64_t>(dropped) < producers * each * 9 / 10) {
      wakes.wait(seen); // every event is announced: waiting for the next announcement never hangs
      seen = wakes.load();
      const auto drained = queue.drain();
      dropped += drained.dropped;
      for (const RunEvent& event : drained.events) {
        (std::holds_alternative<Alert>(event.body) ? alerts : steps) += 1;
        auto& last = lastOf[static_cast<std::size_t>(event.step / each)];
        QVERIFY(event.step > last); // each producer's own order
        last = event.step;
      }
    }
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(alerts, std::int64_t{producers * each / 10});
    QCOMPARE(steps + static_cast<std::int64_t>(dropped), std::int64_t{producers * each * 9 / 10});
    QVERIFY(queue.drain().events.empty());
  }
};

QTEST_GUILESS_MAIN(TestEventQueue)
#include "test_event_queue.moc"

#include "train/charts_panel.h"
#include "train/run_session.h"
#include "train/train_page.h"
#include "ui/train/scripted_feed.h"

#include <QApplication>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

/// A run of 24 hours at ten steps a second, with everything that it says, in a page that is open all the time.
class TestDayLongRun : public QObject {
  Q_OBJECT

  /// Bytes that are this process's own; pages of the charts' files are the system's cache.
  static std::int64_t anonymousBytes() {
    QFile status("/proc/self/status");
    if (!status.open(QIODevice::ReadOnly)) return -1;
    for (const QByteArray& line : status.readAll().split('\n'))
      if (line.startsWith("RssAnon:")) return line.mid(8).trimmed().split(' ').first().toLongLong() * 1024;
    return -1;
  }

  static std::vector<RunEvent> burst(int from, int count) {
    std::vector<RunEvent> events;
    for (int i = from; i < from + count; ++i) {
      RunEvent event = step(i, 1e9 + i / 10.0, 2 + std::sin(i * 0.01), 864'000);
      auto& metrics = std::get<StepMetrics>(event.body);
      metrics.links = {{"device", 1000, 1000, 0.1, 0.1, 1e4, 1e4}};
      metrics.peak = metrics.planned = {1 << 30, 1 << 30};
      metrics.gradNorm = 1 + 0.1 * std::cos(i * 0.1);
      events.push_back(std::move(event));
      if (i % 100 == 0) events.push_back({1e9 + i / 10.0, i, LogLine{Severity::Info, std::string(200, 'x')}});
      if (i % 1000 == 0) {
        events.push_back({1e9 + i / 10.0, i, Evaluation{2, 7.4, 1, false}});
        events.push_back({1e9 + i / 10.0, i, Sample{"The", std::string(2000, 'y') + std::to_string(i)}});
        events.push_back({1e9 + i / 10.0, i, Alert{"loss-spike", "a spike", "nothing"}});
        events.push_back({1e9 + i / 10.0, i, CheckpointSaved{"/runs/goose/checkpoints/step", 1, 1}});
      }
    }
    return events;
  }

 private Q_SLOTS:
  void staysWithinItsMemory() {
    constexpr int steps = 864'000, atOnce = 2048, warmUp = 20 * atOnce;
    QTemporaryDir cache;
    auto owned = std::make_unique<ScriptedFeed>();
    ScriptedFeed* feed = owned.get();
    RunSession session(std::move(owned), "goose", cache.path());
    session.open();
    TrainPage page;
    page.resize(1280, 820);
    page.show(&session);
    static_cast<QWidget&>(page).show();
    std::int64_t before = 0;
    for (int from = 1; from <= steps; from += atOnce) {
      feed->tell(burst(from, std::min(atOnce, steps - from + 1)));
      QApplication::processEvents();
      if (from > warmUp && before == 0) before = anonymousBytes();
    }
    QTRY_VERIFY(page.charts().charts().front()->framesPainted() > 1);
    QCOMPARE(session.steps()->rows(), steps);
    QVERIFY2(session.steps()->notice().isEmpty(), qPrintable(session.steps()->notice()));
    const std::int64_t grown = anonymousBytes() - before;
    // Pyramids and averages: some bytes a step for each curve; log, samples and alerts are bounded.
    QVERIFY2(grown < 96 << 20, qPrintable(QString("grew by %1 MiB").arg(grown >> 20)));
    page.show(nullptr);
  }
};

QTEST_MAIN(TestDayLongRun)
#include "test_day_long_run.moc"

#include "engine/run_event.h"
#include "engine/step_metrics.h"

#include "base/json_reader.h"
#include "base/random.h"

#include <QTest>
#include <bit>
#include <cmath>
#include <limits>

using namespace millrace;

namespace {

StepMetrics sample() {
  StepMetrics metrics;
  metrics.step = 17;
  metrics.time = 1.7e9 + 0.123456;
  metrics.loss = 1.0 / 3.0;
  metrics.gradNorm = 2.0 / 7.0;
  metrics.learningRate = 3e-4;
  metrics.tokens = 4096;
  metrics.tokensTotal = 17 * 4096;
  metrics.unmaskedTargets = 4000;
  metrics.seconds = 0.1;
  metrics.tokensPerSecond = 40960;
  metrics.clipFactor = 0.7;
  metrics.discarded = true;
  metrics.forwardSeconds = 0.01;
  metrics.backwardSeconds = 0.02;
  metrics.optimizerSeconds = 0.03;
  metrics.boundSeconds = 0.09;
  metrics.links = {{"bus", 1, 2, 0.3, 0.4}, {"disk", std::int64_t{1} << 50, 0, 1e-9, 0}};
  metrics.stalls = {0.001, 0.002, 0.003, 0.004};
  metrics.peak = {123456789012, 5};
  metrics.planned = {123456789013, 6};
  metrics.passes = {0.25, 7.5};
  metrics.gpu = GpuMetrics{.utilization = 0.97,
                           .powerWatts = 511.25,
                           .temperature = {}, // not told
                           .memoryUsed = 1e11,
                           .linkIn = 4.9e10,
                           .linkOut = 0};
  metrics.drives = DriveMetrics{1.4e12, 2.25, true};
  return metrics;
}

} // namespace

class TestStepMetrics : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void metricsRoundTrip() {
    const StepMetrics metrics = sample();
    const std::string line = toJson(metrics);
    QVERIFY(line.find('\n') == std::string::npos);
    const auto back = stepMetricsFromJson(line, "metrics.jsonl");
    QVERIFY2(back.has_value(), back ? "" : back.error().message.c_str());
    QVERIFY(*back == metrics);
    StepMetrics without = metrics; // the CPU computes
    without.gpu.reset();
    without.drives.reset();
    QVERIFY(*stepMetricsFromJson(toJson(without), "metrics.jsonl") == without);
    const auto wrong = stepMetricsFromJson(R"({"step":1,"gpu":{"power_watts":"much"}})", "metrics.jsonl");
    QVERIFY(!wrong && wrong.error().message.find("gpu.power_watts") != std::string::npos);
  }

  void lossBitsAreExact_data() {
    QTest::addColumn<double>("loss");
    QTest::addColumn<QString>("written");
    QTest::newRow("nan") << std::nan("") << "\"loss\":\"nan\"";
    QTest::newRow("inf") << std::numeric_limits<double>::infinity() << "\"loss\":\"inf\"";
    QTest::newRow("-inf") << -std::numeric_limits<double>::infinity() << "\"loss\":\"-inf\"";
    QTest::newRow("tenth") << 0.1 << "\"loss\":0.1";
    QTest::newRow("denormal") << std::numeric_limits<double>::denorm_min() << "\"loss\":";
    QTest::newRow("negative zero") << -0.0 << "\"loss\":-0.0";
  }
  void lossBitsAreExact() {
    QFETCH(double, loss);
    QFETCH(QString, written);
    StepMetrics metrics = sample();
    metrics.loss = loss;
    const std::string line = toJson(metrics);
    QVERIFY2(line.find(written.toStdString()) != std::string::npos, line.c_str());
    const auto back = stepMetricsFromJson(line, "m");
    QVERIFY(back.has_value());
    if (std::isnan(loss))
      QVERIFY(std::isnan(back->loss));
    else
      QCOMPARE(std::bit_cast<std::uint64_t>(back->loss), std::bit_cast<std::uint64_t>(loss));
  }

  void randomDoublesAreExact() {
    Random random(3);
    for (int i = 0; i < 5000; ++i) {
      StepMetrics metrics;
      metrics.step = i;
      metrics.loss = std::bit_cast<double>(random.next());
      metrics.gradNorm = random.normal();
      const auto back = stepMetricsFromJson(toJson(metrics), "m");
      QVERIFY(back.has_value());
      QVERIFY((std::isnan(metrics.loss) && std::isnan(back->loss)) || back->loss == metrics.loss);
      QCOMPARE(back->gradNorm, metrics.gradNorm);
    }
  }

  void otherVersionsCanBeRead() {
    const auto back = stepMetricsFromJson("{\"step\":3,\"loss\":2.5,\"colour\":\"green\"}", "m");
    QVERIFY(back && back->step == 3 && back->loss == 2.5 && back->clipFactor == 1);
  }

  void badMetricsAreNamed_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("message");
    QTest::newRow("no step") << "{\"loss\":1}"
                             << "m: step is missing";
    QTest::newRow("loss a word") << "{\"step\":1,\"loss\":\"low\"}"
                                 << "m: loss is not a number";
    QTest::newRow("links a number") << "{\"step\":1,\"links\":3}"
                                    << "m: links is not a list";
    QTest::newRow("in a link") << "{\"step\":1,\"links\":[{\"bytes_in\":\"x\"}]}"
                               << "m: links[0].bytes_in";
    QTest::newRow("in stalls") << "{\"step\":1,\"stalls\":{\"data\":[]}}"
                               << "m: stalls.data is not a number";
    QTest::newRow("torn") << "{\"step\":1,\"lo"
                          << "m: not valid JSON at byte";
    QTest::newRow("a list") << "[1]"
                            << "expected an object";
    QTest::newRow("empty") << ""
                           << "not valid JSON";
  }
  void badMetricsAreNamed() {
    QFETCH(QString, line);
    QFETCH(QString, message);
    const auto back = stepMetricsFromJson(line.toStdString(), "m");
    QVERIFY(!back);
    QCOMPARE(back.error().kind, ErrorKind::BadInput);
    QVERIFY2(back.error().message.find(message.toStdString()) != std::string::npos, back.error().message.c_str());
  }

  void eventsRoundTrip() {
    std::vector<RunEvent> events = {
        {1.5, 0, StateChanged{RunState::Preparing, ""}},
        {1.5, 0, StateChanged{RunState::Paused, "the disk is full"}},
        {sample().time, 17, sample()},
        {2.5, 20, Evaluation{0.5, 1.65, 0.9, true}},
        {2.5, 20, Evaluation{0.5, 1.65, 0.9, true, {{"", 0.25, 1.3, 0, 5}, {"Pile-CC \"1\"", 0.75, 2.1, 1.5, 9}}}},
        {2.5, 20, Sample{"Once\nupon", "a \"time\"\t\xE2\x82\xAC"}},
        {3.5, 21, CheckpointSaved{"checkpoints/step-00000021", 0.25, 1 << 20}},
        {3.5, 21, Alert{"non-finite-loss", "step 21 was discarded", "lower the learning rate"}},
        {4.5, 22, LogLine{Severity::Warning, "w"}},
    };
    for (const RunState state :
         {RunState::Preparing, RunState::Running, RunState::Paused, RunState::Evaluating, RunState::Saving,
          RunState::Stopping, RunState::Finished, RunState::Failed, RunState::Interrupted})
      events.push_back({9, 9, StateChanged{state, "r"}});
    for (const RunEvent& event : events) {
      const std::string line = toJson(event);
      QVERIFY(line.find('\n') == std::string::npos);
      const auto back = runEventFromJson(line, "events.jsonl");
      QVERIFY2(back.has_value(), back ? "" : back.error().message.c_str());
      QVERIFY2(*back == event, line.c_str());
    }
  }

  void infinitePerplexitySurvives() {
    const RunEvent event{1, 1, Evaluation{900, std::numeric_limits<double>::infinity(), 1, false}};
    const auto back = runEventFromJson(toJson(event), "e");
    QVERIFY(back && *back == event);
  }

  void brokenTextStaysReadable() {
    // A sample may end in the middle of a character.
    const RunEvent event{1, 1, Sample{"p", std::string("half \xE2\x82")}};
    const auto back = runEventFromJson(toJson(event), "e");
    QVERIFY(back.has_value());
    QVERIFY(std::get<Sample>(back->body).text.starts_with("half "));
  }

  void badEventsAreNamed_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("message");
    QTest::newRow("no event") << "{\"time\":1}"
                              << "e: event is missing";
    QTest::newRow("unknown event") << "{\"event\":\"party\",\"time\":1}"
                                   << "e: event is 'party', expected one of";
    QTest::newRow("no time") << "{\"event\":\"log\"}"
                             << "e: time is missing";
    QTest::newRow("unknown state") << "{\"event\":\"state\",\"time\":1,\"state\":\"asleep\"}"
                                   << "e: state is 'asleep'";
    QTest::newRow("no state") << "{\"event\":\"state\",\"time\":1}"
                              << "e: state is missing";
  }
  void badEventsAreNamed() {
    QFETCH(QString, line);
    QFETCH(QString, message);
    const auto back = runEventFromJson(line.toStdString(), "e");
    QVERIFY(!back);
    QVERIFY2(back.error().message.find(message.toStdString()) != std::string::npos, back.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(TestStepMetrics)
#include "test_step_metrics.moc"

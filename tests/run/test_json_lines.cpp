#include "base/atomic_file.h"
#include "run/json_lines_reader.h"
#include "run/json_lines_writer.h"
#include "run/metrics_file.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QTest>

using namespace millrace;
using test::Fault;
using test::FaultyFileSystem;
using test::MemoryFileSystem;

namespace {

const Path metricsPath = "/run/metrics.jsonl";

std::string lineOf(std::int64_t step, double loss = 0) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.loss = loss;
  if (step % 3 == 0) metrics.links = {{"a link with a longish name", 1, 2, 3, 4}}; // lines of several lengths
  return toJson(metrics);
}

} // namespace

class TestJsonLines : public QObject {
  Q_OBJECT

  std::unique_ptr<MemoryFileSystem> m_files;

  std::string contents(const Path& path = metricsPath) { return *readTextFile(*m_files, path); }
  void put(const std::string& text, const Path& path = metricsPath) {
    QVERIFY(writeTextFile(*m_files, path, text).has_value());
  }
  void putSteps(std::int64_t first, std::int64_t last) {
    std::string text;
    for (std::int64_t step = first; step <= last; ++step) text += lineOf(step) + "\n";
    put(text);
  }
  std::vector<std::int64_t> stepsIn(const Path& path, std::int64_t after = -1) {
    std::vector<std::int64_t> steps;
    auto reader = MetricsReader::open(*m_files, path, after);
    for (;;) {
      const auto metrics = reader->next();
      if (!metrics || !*metrics) return steps;
      steps.push_back((*metrics)->step);
    }
  }
  static std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> steps;
    for (std::int64_t step = first; step <= last; ++step) steps.push_back(step);
    return steps;
  }

 private Q_SLOTS:
  void init() {
    m_files = std::make_unique<MemoryFileSystem>();
    QVERIFY(m_files->createDirectories("/run").has_value());
  }

  void appendedLinesAreRead() {
    auto writer = JsonLinesWriter::open(*m_files, metricsPath);
    JsonLinesReader reader(*m_files, metricsPath);
    QVERIFY(!*reader.next());
    for (std::int64_t step = 1; step <= 500; ++step) {
      QVERIFY(writer->append(lineOf(step)).has_value());
      const auto line = reader.next();
      QVERIFY(line && *line);
      QCOMPARE((*line)->text, lineOf(step));
      QVERIFY(!*reader.next());
    }
    QCOMPARE(stepsIn(metricsPath), range(1, 500));
  }

  void tornEndIsRepaired_data() {
    QTest::addColumn<QByteArray>("end");
    QTest::addColumn<qlonglong>("left"); // steps after the repair
    QTest::addColumn<qlonglong>("removed");
    QTest::newRow("whole") << QByteArray() << 3ll << 0ll;
    QTest::newRow("half a line") << QByteArray("{\"step\":4,\"lo") << 3ll << 13ll;
    QTest::newRow("one byte") << QByteArray("{") << 3ll << 1ll;
    QTest::newRow("only the line end is missing") << QByteArray("{\"step\":4}") << 4ll << 0ll;
    QTest::newRow("zeros") << QByteArray(70000, '\0') << 3ll << 70000ll;
    QTest::newRow("zeros and line ends") << QByteArray("\0\0\n\0\n", 5) << 3ll << 5ll;
    QTest::newRow("broken line with its end") << QByteArray("{\"step\":4,\"l\n") << 3ll << 13ll;
    QTest::newRow("a number is no object") << QByteArray("4\n") << 3ll << 2ll;
    QTest::newRow("very long garbage") << QByteArray(17 << 20, 'x') << 3ll << qlonglong(17 << 20);
  }
  void tornEndIsRepaired() {
    QFETCH(QByteArray, end);
    QFETCH(qlonglong, left);
    QFETCH(qlonglong, removed);
    put(lineOf(1) + "\n" + lineOf(2) + "\n" + lineOf(3) + "\n" + end.toStdString());
    {
      auto writer = JsonLinesWriter::open(*m_files, metricsPath);
      QVERIFY(writer.has_value());
      QCOMPARE(qlonglong(writer->repaired()), removed);
      QVERIFY(writer->append(lineOf(9)).has_value());
    }
    auto steps = range(1, left);
    steps.push_back(9);
    QCOMPARE(stepsIn(metricsPath), steps);
    QCOMPARE(contents().back(), '\n');
  }

  void nothingButGarbageIsRepaired() {
    put("garbage");
    auto writer = JsonLinesWriter::open(*m_files, metricsPath);
    QVERIFY(writer->append(lineOf(1)).has_value());
    QCOMPARE(contents(), lineOf(1) + "\n");
  }

  void fullDiskKeepsLines() {
    FaultyFileSystem faulty(*m_files);
    auto writer = JsonLinesWriter::open(faulty, metricsPath);
    QVERIFY(writer->append(lineOf(1)).has_value());
    faulty.failAt(0, Fault::NoSpace);
    for (std::int64_t step = 2; step <= 20; ++step) {
      const Status appended = writer->append(lineOf(step));
      QVERIFY(!appended);
      QCOMPARE(appended.error().kind, ErrorKind::OutOfSpace);
      QCOMPARE(contents(), lineOf(1) + "\n"); // nothing torn is left in the file
    }
    QCOMPARE(writer->pendingLines(), std::size_t{19});
    QVERIFY(!writer->retry());
    faulty.repair();
    QVERIFY(writer->retry().has_value());
    QCOMPARE(writer->pendingLines(), std::size_t{0});
    QCOMPARE(stepsIn(metricsPath), range(1, 20));
  }

  void waitingLinesAreBounded() {
    FaultyFileSystem faulty(*m_files);
    const Bytes limit = 10 * static_cast<Bytes>(lineOf(1000).size() + 80);
    auto writer = JsonLinesWriter::open(faulty, metricsPath, limit);
    faulty.failAt(0, Fault::NoSpace);
    for (std::int64_t step = 1; step <= 1000; ++step) QVERIFY(!writer->append(lineOf(step)));
    QVERIFY(writer->pendingLines() >= 5 && writer->pendingLines() <= 15);
    QCOMPARE(writer->droppedLines() + writer->pendingLines(), std::uint64_t{1000});
    faulty.repair();
    QVERIFY(writer->append(lineOf(1001)).has_value());
    QCOMPARE(stepsIn(metricsPath).back(), std::int64_t{1001});
    QVERIFY(contents().size() <= static_cast<std::size_t>(limit) + 600);
  }

  void ioErrorsLeaveWholeLines() {
    FaultyFileSystem faulty(*m_files);
    auto writer = JsonLinesWriter::open(faulty, metricsPath);
    for (std::int64_t step = 1; step <= 100; ++step) {
      if (step % 4 == 0) faulty.failAt(0, Fault::Error);
      (void)writer->append(lineOf(step));
      QVERIFY(contents().empty() || contents().back() == '\n');
    }
    QVERIFY(writer->retry().has_value());
    QCOMPARE(stepsIn(metricsPath), range(1, 100));
  }

  void offsetOfAStep_data() {
    QTest::addColumn<qlonglong>("after");
    QTest::addColumn<qlonglong>("first");
    QTest::newRow("before all") << -1ll << 5ll;
    QTest::newRow("before the first") << 4ll << 5ll;
    QTest::newRow("the first") << 5ll << 6ll;
    QTest::newRow("inside") << 137ll << 138ll;
    QTest::newRow("last but one") << 299ll << 300ll;
    QTest::newRow("the last") << 300ll << -1ll;
    QTest::newRow("behind all") << 9000ll << -1ll;
  }
  void offsetOfAStep() {
    QFETCH(qlonglong, after);
    QFETCH(qlonglong, first);
    putSteps(5, 300);
    const auto offset = offsetAfterStep(*m_files, metricsPath, after);
    QVERIFY(offset.has_value());
    const std::string text = contents();
    const std::size_t expected = first < 0 ? text.size() : text.find(lineOf(first) + "\n");
    QCOMPARE(static_cast<std::size_t>(*offset), expected);
  }

  void offsetOfEveryStepOfEveryLength() {
    for (std::int64_t count = 0; count <= 12; ++count) {
      putSteps(1, count);
      for (std::int64_t after = 0; after <= count; ++after)
        QCOMPARE(stepsIn(metricsPath, after), range(after + 1, count));
    }
    QCOMPARE(*offsetAfterStep(*m_files, "/run/none.jsonl", 3), Bytes{0});
  }

  void damagedLinesArePassedOver() {
    put(lineOf(1) + "\nrubbish\n" + lineOf(2) + "\n{\"step\":\"x\"}\n" + lineOf(3) + "\n" + std::string(17 << 20, 'y') +
        "\n" + lineOf(4) + "\n");
    auto reader = MetricsReader::open(*m_files, metricsPath);
    for (std::int64_t step = 1; step <= 4; ++step) QCOMPARE((**reader->next()).step, step);
    QVERIFY(!*reader->next());
    QCOMPARE(reader->damagedLines(), std::uint64_t{3});
    QCOMPARE((**lastMetrics(*m_files, metricsPath)).step, std::int64_t{4});
  }

  void lastMetricsBehindATornLine() {
    QVERIFY(!*lastMetrics(*m_files, metricsPath));
    put(lineOf(1) + "\n" + lineOf(2) + "\n{\"ste");
    QCOMPARE((**lastMetrics(*m_files, metricsPath)).step, std::int64_t{2});
  }

  void resumeCutsAndKeeps() {
    putSteps(1, 100);
    auto cut = cutMetrics(*m_files, metricsPath, 60);
    QVERIFY(cut.has_value());
    QCOMPARE(cut->kept, Path("/run/metrics.attempt-1.jsonl"));
    QCOMPARE(stepsIn(metricsPath), range(1, 60));
    QCOMPARE(stepsIn(cut->kept), range(61, 100));

    cut = cutMetrics(*m_files, metricsPath, 60);
    QVERIFY(cut->kept.empty()); // nothing to cut

    cut = cutMetrics(*m_files, metricsPath, 0);
    QCOMPARE(cut->kept, Path("/run/metrics.attempt-2.jsonl"));
    QCOMPARE(stepsIn(metricsPath), range(1, 0));
    QCOMPARE(stepsIn(cut->kept), range(1, 60));
    QCOMPARE(*metricsAttempts(*m_files, metricsPath), (std::vector<std::int64_t>{1, 2}));
  }

  void resumeRepairsATornEnd() {
    putSteps(1, 10);
    put(contents() + "{\"step\":11,\"loss\":");
    const auto cut = cutMetrics(*m_files, metricsPath, 10);
    QVERIFY(cut->kept.empty());
    QCOMPARE(stepsIn(metricsPath), range(1, 10));
    QCOMPARE(contents().back(), '\n');
  }

  void cutInterruptedAnywhere_data() {
    QTest::addColumn<int>("loss");
    QTest::newRow("killed") << int(test::Loss::Nothing);
    QTest::newRow("power loss, all unsynced gone") << int(test::Loss::Everything);
    QTest::newRow("power loss, some unsynced gone") << int(test::Loss::Some);
  }
  void cutInterruptedAnywhere() {
    QFETCH(int, loss);
    bool completed = false;
    for (std::int64_t operation = 0; !completed; ++operation) {
      init();
      QVERIFY(m_files->syncDirectory("/").has_value());
      putSteps(1, 30);
      FaultyFileSystem faulty(*m_files);
      faulty.failAt(operation, Fault::Crash);
      completed = cutMetrics(faulty, metricsPath, 20).has_value();
      m_files->powerLoss(static_cast<test::Loss>(loss), static_cast<std::uint64_t>(operation));
      QVERIFY(cutMetrics(*m_files, metricsPath, 20).has_value());
      QCOMPARE(stepsIn(metricsPath), range(1, 20));
      QCOMPARE(*metricsAttempts(*m_files, metricsPath), (std::vector<std::int64_t>{1})); // once, however often tried
      QCOMPARE(stepsIn("/run/metrics.attempt-1.jsonl"), range(21, 30));
    }
  }

  void readerNoticesRewriting() {
    putSteps(1, 50);
    JsonLinesReader reader(*m_files, metricsPath);
    for (int i = 0; i < 50; ++i) QVERIFY(*reader.next());
    QVERIFY(!*reader.next() && !reader.rewritten());
    QVERIFY(cutMetrics(*m_files, metricsPath, 20).has_value());
    auto writer = JsonLinesWriter::open(*m_files, metricsPath);
    for (std::int64_t step = 21; step <= 70; ++step) QVERIFY(writer->append(lineOf(step, 1.5)).has_value());
    QVERIFY(!*reader.next()); // longer than before, but another file
    QVERIFY(reader.rewritten());
    reader.seek(*offsetAfterStep(*m_files, metricsPath, 20));
    QCOMPARE((*reader.next())->text, lineOf(21, 1.5));
    QVERIFY(!reader.rewritten());
  }

  void readerPassesOverACutOffTornLine() {
    put(lineOf(1) + "\n{\"torn");
    JsonLinesReader reader(*m_files, metricsPath);
    QVERIFY(*reader.next());
    QVERIFY(!*reader.next());
    auto writer = JsonLinesWriter::open(*m_files, metricsPath);
    QVERIFY(!*reader.next() && !reader.rewritten());
    QVERIFY(writer->append(lineOf(2)).has_value());
    QCOMPARE((*reader.next())->text, lineOf(2));
  }
};

QTEST_GUILESS_MAIN(TestJsonLines)
#include "test_json_lines.moc"

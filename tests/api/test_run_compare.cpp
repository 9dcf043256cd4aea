#include "engine/run_compare.h"
#include "run/written_run.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

using namespace millrace;
using test::writeRun;
using test::WrittenRun;

#define GOOD(result) QVERIFY2((result).has_value(), (result) ? "" : (result).error().message.c_str())

class TestRunCompare : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_folder;
  std::vector<Path> m_runs;

  void add(const WrittenRun& run) {
    m_runs.push_back(Path(m_folder->path().toStdString()) / ("run-" + std::to_string(m_runs.size())));
    GOOD(writeRun(m_files, m_runs.back(), run));
  }
  std::vector<double> positions(const std::vector<LossesAt>& losses) {
    std::vector<double> all;
    for (const LossesAt& each : losses) all.push_back(each.at);
    return all;
  }

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_runs.clear();
  }

  void lossesAreComparedAtEqualStepsTokensAndTimes() {
    WrittenRun a, b;
    a.steps = 100;
    a.loss = [](std::int64_t step) { return static_cast<double>(step); };
    a.evaluations = {{50, 4.0}, {100, 3.0}};
    b.steps = 40; // twice the tokens and four times the time a step
    b.tokensOfStep = 128;
    b.secondsOfStep = 2;
    b.loss = [](std::int64_t step) { return step == 2 ? std::nan("") : 100.0; };
    b.end = RunState::Interrupted;
    add(a);
    add(b);
    const auto comparison = compareRuns(m_files, m_runs);
    GOOD(comparison);
    QCOMPARE(comparison->runs[0].steps, 100);
    QCOMPARE(comparison->runs[0].tokens, 6400);
    QCOMPARE(comparison->runs[0].seconds, 50.0);
    QCOMPARE(comparison->runs[0].tokensPerSecond, 128.0);
    QCOMPARE(*comparison->runs[0].loss, 50.5); // 1 to 100
    QCOMPARE(comparison->runs[0].unfinite, 0);
    QCOMPARE(comparison->runs[0].details.lastValidation->loss, 3.0);
    QCOMPARE(comparison->runs[1].unfinite, 1);
    QCOMPARE(*comparison->runs[1].loss, 100.0);
    QVERIFY(comparison->runs[1].details.info.outcome == RunOutcome::Interrupted);

    QCOMPARE(positions(comparison->bySteps), (std::vector<double>{4, 8, 12, 16, 20, 24, 28, 32, 36, 40}));
    QCOMPARE(*comparison->bySteps[0].runs[0].training, 2.5);   // 1 to 4
    QCOMPARE(*comparison->bySteps[1].runs[0].training, 6.5);   // 5 to 8
    QCOMPARE(*comparison->bySteps[0].runs[1].training, 100.0); // without the NaN
    QVERIFY(!comparison->bySteps[9].runs[0].validation);       // the first evaluation comes later
    // 40 steps of b are 5120 tokens: 80 steps of a.
    QCOMPARE(comparison->byTokens.back().at, 5120.0);
    QCOMPARE(*comparison->byTokens.back().runs[0].training, 76.5); // 73 to 80
    QCOMPARE(*comparison->byTokens.back().runs[0].validation, 4.0);
    // a took 50 s.
    QCOMPARE(comparison->bySeconds.back().at, 50.0);
    QCOMPARE(*comparison->bySeconds.back().runs[0].training, 95.5);
    QCOMPARE(*comparison->bySeconds.back().runs[0].validation, 3.0);
    QVERIFY(!comparison->bySeconds.back().runs[1].validation);
  }

  void settingsThatDifferAreNamed() {
    WrittenRun a, b, c;
    b.settings["training"] = {{"steps", 100}, {"learning_rate", 2e-3}, {"context", 32}, {"seed", 7}};
    c.name = "swan";
    add(a);
    add(b);
    add(c);
    const auto comparison = compareRuns(m_files, m_runs);
    GOOD(comparison);
    std::vector<std::string> keys;
    for (const SettingDifference& difference : comparison->settings) keys.push_back(difference.key);
    QCOMPARE(keys, (std::vector<std::string>{"name", "training.learning_rate", "training.seed"}));
    const SettingDifference& rate = comparison->settings[1];
    QVERIFY(*rate.values[0] == 1e-3 && *rate.values[1] == 2e-3 && *rate.values[2] == 1e-3);
    QVERIFY(!comparison->settings[2].values[0]);
    QVERIFY(*comparison->settings[2].values[1] == 7);
  }

  void warnsWhereLossesCannotBeCompared_data() {
    QTest::addColumn<std::function<void(WrittenRun&, WrittenRun&)>>("change");
    QTest::addColumn<QString>("word"); // of the one warning; empty: none
    const auto row = [](const char* name, std::function<void(WrittenRun&, WrittenRun&)> change, const char* word) {
      QTest::newRow(name) << change << QString(word);
    };
    const Json otherData = {{"sources", Json::array({{{"path", "/data/swans.txt"}}})}, {"validation_fraction", 0.05}};
    row(
        "alike", [](WrittenRun&, WrittenRun&) {}, "");
    row(
        "tokenizer", [](WrittenRun&, WrittenRun& b) { b.tokenizer = "{\"a\": 1}"; }, "different tokenizers");
    row(
        "settings of the tokenizer, none is there",
        [](WrittenRun& a, WrittenRun& b) {
          a.tokenizer.clear();
          b.settings["tokenizer"] = {{"file", "/t.json"}};
        },
        "different tokenizers");
    row(
        "contents of the data", [](WrittenRun&, WrittenRun& b) { b.dataFingerprint = "other"; }, "different data");
    row(
        "paths of the same data", [=](WrittenRun&, WrittenRun& b) { b.settings["data"] = otherData; }, "");
    row(
        "other data, no checkpoint is there",
        [=](WrittenRun& a, WrittenRun& b) {
          a.checkpoints.clear();
          b.settings["data"] = otherData;
        },
        "different data");
    row(
        "context",
        [](WrittenRun&, WrittenRun& b) {
          b.settings["training"] = {{"context", 64}};
        },
        "training.context");
    row(
        "rows",
        [](WrittenRun&, WrittenRun& b) {
          b.settings["evaluation"] = {{"rows", 8}};
        },
        "evaluation.rows");
  }
  void warnsWhereLossesCannotBeCompared() {
    using Change = std::function<void(WrittenRun&, WrittenRun&)>;
    QFETCH(Change, change);
    QFETCH(QString, word);
    WrittenRun a, b;
    a.checkpoints = b.checkpoints = {1};
    change(a, b);
    add(a);
    add(b);
    const auto comparison = compareRuns(m_files, m_runs);
    GOOD(comparison);
    QCOMPARE(comparison->warnings.size(), std::size_t(word.isEmpty() ? 0 : 1));
    if (!word.isEmpty())
      QVERIFY2(comparison->warnings[0].find(word.toStdString()) != std::string::npos, comparison->warnings[0].c_str());
  }

  void runsWithoutStepsHaveNoMarks() {
    WrittenRun a;
    a.steps = 5; // fewer than there are marks
    add(a);
    add({});
    const auto none = compareRuns(m_files, m_runs);
    GOOD(none);
    QVERIFY(none->bySteps.empty() && none->byTokens.empty() && none->bySeconds.empty());
    QVERIFY(!none->runs[1].loss);
    m_runs[1] = m_runs[0];
    const auto few = compareRuns(m_files, m_runs);
    GOOD(few);
    QCOMPARE(positions(few->bySteps), (std::vector<double>{1, 2, 3, 4, 5}));
  }

  void takesTwoRuns() {
    add({});
    QVERIFY(!compareRuns(m_files, m_runs));
    m_runs.push_back(m_runs[0].parent_path());
    const auto refused = compareRuns(m_files, m_runs);
    QVERIFY(!refused);
    QVERIFY(refused.error().message.find("not a run directory") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestRunCompare)
#include "test_run_compare.moc"

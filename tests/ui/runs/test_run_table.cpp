#include "runs/run_filter.h"
#include "runs/run_table_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QtTest>
#include <cmath>

using namespace millrace;
using namespace millrace::ui;

class TestRunTable : public QObject {
  Q_OBJECT

  static RunEntry entry(const QString& name, RunOutcome outcome = RunOutcome::Finished) {
    RunEntry run;
    run.path = "/runs/" + name;
    run.name = name;
    run.outcome = outcome;
    return run;
  }
  static QStringList names(const QAbstractItemModel& model) {
    QStringList all;
    for (int row = 0; row < model.rowCount(); ++row)
      all << model.index(row, RunTableModel::NameColumn).data().toString();
    return all;
  }

 private Q_SLOTS:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

  void rowsStayWhereTheirRunsStay() {
    RunTableModel model;
    RunFilter filter;
    filter.setSourceModel(&model);
    QAbstractItemModelTester tester(&model), filterTester(&filter);
    model.setRuns({entry("a"), entry("b"), entry("c")});
    const QPersistentModelIndex b = model.index(model.rowOf("/runs/b"), 0);
    QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
    RunEntry other = entry("b");
    other.step = 5;
    model.setRuns({entry("d"), other, entry("c")});
    QVERIFY(b.isValid());
    QCOMPARE(b.row(), model.rowOf("/runs/b"));
    QCOMPARE(changed.size(), 1); // of b alone
    QCOMPARE(model.run(b.row()).step, 5);
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.rowOf("/runs/a"), -1);
    model.setBaseline("/runs/b");
    QCOMPARE(b.data().toString(), QString("b (baseline)"));
    model.setBaseline({});
    QCOMPARE(b.data().toString(), QString("b"));
    model.setRuns({});
    QCOMPARE(model.rowCount(), 0);
    QVERIFY(!b.isValid());
  }

  void cellsTellARun() {
    RunEntry run = entry("goose", RunOutcome::Interrupted);
    run.reason = "killed";
    run.step = 1234;
    run.totalSteps = 10'000;
    run.loss = 2.34567;
    run.tokensPerSecond = 13'900;
    run.checkpoints = 2;
    run.checkpointBytes = 3LL << 30;
    run.tags = {"a", "b"};
    RunTableModel model;
    model.setRuns({run, entry("new", RunOutcome::Live)});
    const auto cell = [&](int row, int column, int role = Qt::DisplayRole) {
      return model.index(row, column).data(role);
    };
    QCOMPARE(cell(0, RunTableModel::OutcomeColumn).toString(), QString("Interrupted"));
    QCOMPARE(cell(0, RunTableModel::OutcomeColumn, Qt::ToolTipRole).toString(), QString("killed"));
    QVERIFY(!cell(0, RunTableModel::OutcomeColumn, Qt::DecorationRole).isNull());
    QCOMPARE(cell(0, RunTableModel::ProgressColumn).toString(), QString("1,234 of 10,000"));
    QCOMPARE(cell(0, RunTableModel::LossColumn).toString(), QString("2.346"));
    QCOMPARE(cell(0, RunTableModel::CheckpointsColumn).toString(), QString("3.00\u00A0GiB"));
    QCOMPARE(cell(0, RunTableModel::TagsColumn).toString(), QString("a, b"));
    for (const int column : {RunTableModel::ProgressColumn, RunTableModel::LossColumn, RunTableModel::ValidationColumn,
                             RunTableModel::SpeedColumn, RunTableModel::BeganColumn, RunTableModel::CheckpointsColumn})
      QCOMPARE(cell(1, column).toString(), QString("–")); // not a zero
    for (int column = 0; column < RunTableModel::ColumnCount; ++column)
      QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    run.present = false;
    model.setRuns({run});
    QCOMPARE(cell(0, RunTableModel::OutcomeColumn).toString(), QString("Gone"));
  }

  void numbersAreSortedAsNumbers_data() {
    QTest::addColumn<int>("column");
    QTest::addColumn<QStringList>("rising");
    QTest::newRow("names") << int(RunTableModel::NameColumn) << QStringList{"a", "B", "c", "d"};
    QTest::newRow("steps") << int(RunTableModel::ProgressColumn) << QStringList{"d", "B", "a", "c"};
    QTest::newRow("loss, unknown and NaN last") << int(RunTableModel::LossColumn) << QStringList{"c", "a", "B", "d"};
  }
  void numbersAreSortedAsNumbers() {
    QFETCH(int, column);
    QFETCH(QStringList, rising);
    std::vector<RunEntry> runs = {entry("a"), entry("B"), entry("c"), entry("d")};
    const qint64 steps[] = {90, 9, 1000, 0};
    const std::optional<double> losses[] = {10.0, std::nan(""), 9.5, std::nullopt};
    for (std::size_t i = 0; i < 4; ++i) {
      runs[i].step = steps[i];
      runs[i].loss = losses[i];
    }
    RunTableModel model;
    model.setRuns(runs);
    RunFilter filter;
    filter.setSourceModel(&model);
    filter.sort(column, Qt::AscendingOrder);
    QCOMPARE(names(filter), rising);
  }

  void filters_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("shown");
    QTest::addColumn<QString>("tag");
    QTest::addColumn<QStringList>("left");
    const auto row = [](const char* name, const QString& text, RunsShown shown, const QString& tag,
                        const QStringList& left) {
      QTest::newRow(name) << text << static_cast<int>(shown) << tag << left;
    };
    row("all", "", RunsShown::All, "", {"goose-1", "goose-2", "swan-1", "swan-2"});
    row("words, in any case", "GOOSE  2", RunsShown::All, "", {"goose-2"});
    row("notes", "lovely", RunsShown::All, "", {"swan-1"});
    row("why", "killed", RunsShown::All, "", {"goose-2"});
    row("finished", "", RunsShown::Finished, "", {"goose-1"});
    row("interrupted", "", RunsShown::Interrupted, "", {"goose-2"});
    row("at work", "", RunsShown::Live, "", {"swan-1"});
    row("gone", "", RunsShown::Gone, "", {"swan-2"});
    row("failed", "", RunsShown::Failed, "", {});
    row("tag", "", RunsShown::All, "paper", {"goose-1", "swan-1"});
    row("no part of a tag", "", RunsShown::All, "pap", {});
    row("all of it", "swan", RunsShown::Live, "paper", {"swan-1"});
  }
  void filters() {
    std::vector<RunEntry> runs = {entry("goose-1"), entry("goose-2", RunOutcome::Interrupted),
                                  entry("swan-1", RunOutcome::Live), entry("swan-2", RunOutcome::Failed)};
    runs[0].tags = {"paper", "old"};
    runs[1].reason = "killed or crashed";
    runs[2].tags = {"paper"};
    runs[2].notes = "a lovely one";
    runs[3].present = false;
    RunTableModel model;
    model.setRuns(runs);
    RunFilter filter;
    QAbstractItemModelTester tester(&filter);
    filter.setSourceModel(&model);
    filter.sort(RunTableModel::NameColumn);
    QFETCH(QString, text);
    QFETCH(int, shown);
    QFETCH(QString, tag);
    QFETCH(QStringList, left);
    filter.setText(text);
    filter.setShown(static_cast<RunsShown>(shown));
    filter.setTag(tag);
    QCOMPARE(names(filter), left);
    QCOMPARE(filter.isFiltering(), left.size() != 4);
  }
};

QTEST_MAIN(TestRunTable)
#include "test_run_table.moc"

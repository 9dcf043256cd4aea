#include "models/log_filter.h"
#include "models/log_model.h"
#include "models/sample_model.h"

#include <QAbstractItemModelTester>
#include <QtTest>

using namespace millrace;
using namespace millrace::ui;

class TestModels : public QObject {
  Q_OBJECT

  static std::vector<LogModel::Line> lines(int from, int count) {
    std::vector<LogModel::Line> all;
    for (int i = from; i < from + count; ++i)
      all.push_back({1e9 + i, static_cast<Severity>(i % 4), QString("line %1").arg(i)});
    return all;
  }

 private Q_SLOTS:
  void logKeepsTheNewest() {
    LogModel model(nullptr, 100);
    QAbstractItemModelTester tester(&model);
    model.append(lines(0, 60));
    QCOMPARE(model.rowCount(), 60);
    model.append(lines(60, 60));
    QVERIFY(model.rowCount() <= 100 && model.rowCount() >= 60);
    QCOMPARE(model.line(model.rowCount() - 1).message, QString("line 119"));
    model.append(lines(120, 1000));
    QCOMPARE(model.rowCount(), 100);
    QCOMPARE(model.line(0).message, QString("line 1020"));
    QCOMPARE(model.line(99).message, QString("line 1119"));
    model.append({});
    QCOMPARE(model.rowCount(), 100);
    model.clear();
    QCOMPARE(model.rowCount(), 0);
  }

  void logTellsItsCells() {
    LogModel model;
    model.append({{0, Severity::Warning, "a\tb"}});
    QCOMPARE(model.index(0, LogModel::MessageColumn).data().toString(), QString("a\tb"));
    QCOMPARE(model.index(0, LogModel::LevelColumn).data().toString(), severityName(Severity::Warning));
    QCOMPARE(model.index(0, LogModel::TimeColumn).data().toString(),
             QDateTime::fromMSecsSinceEpoch(0).toString("yyyy-MM-dd HH:mm:ss"));
    QVERIFY(!model.headerData(LogModel::TimeColumn, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
  }

  void filterByLevelAndText_data() {
    QTest::addColumn<int>("least");
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("rows");
    QTest::newRow("all") << static_cast<int>(Severity::Debug) << "" << 40;
    QTest::newRow("warnings") << static_cast<int>(Severity::Warning) << "" << 20;
    QTest::newRow("errors") << static_cast<int>(Severity::Error) << "" << 10;
    QTest::newRow("text") << static_cast<int>(Severity::Debug) << "LINE 3" << 11; // 3 and 30 to 39
    QTest::newRow("both") << static_cast<int>(Severity::Error) << "line 3" << 4;  // 3, 31, 35, 39
    QTest::newRow("none") << static_cast<int>(Severity::Debug) << "absent" << 0;
  }
  void filterByLevelAndText() {
    LogModel model;
    LogFilter filter;
    QAbstractItemModelTester tester(&filter);
    filter.setSourceModel(&model);
    model.append(lines(0, 20));
    QFETCH(int, least);
    QFETCH(QString, text);
    filter.setLeastSeverity(static_cast<Severity>(least));
    filter.setText(text);
    model.append(lines(20, 20));
    QTEST(filter.rowCount(), "rows");
  }

  void samplesAreNewestFirstAndNotTwice() {
    SampleModel model(nullptr, 3);
    QAbstractItemModelTester tester(&model);
    model.append(10, {"The", " goose"});
    model.append(20, {"The", " river"});
    model.append(20, {"A", " river"});
    QCOMPARE(model.index(0).data(SampleModel::PromptRole).toString(), QString("A"));
    model.append(20, {"The", " river"}); // of a resumed run
    QCOMPARE(model.rowCount(), 3);
    model.append(30, {"The", " lake"});
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.index(0).data(SampleModel::StepRole).toInt(), 30);
    QCOMPARE(model.index(2).data(SampleModel::TextRole).toString(), QString(" river"));
    QVERIFY(model.index(0).data().toString().contains("The lake"));
    model.clear();
    QCOMPARE(model.rowCount(), 0);
  }
};

QTEST_GUILESS_MAIN(TestModels)
#include "test_models.moc"

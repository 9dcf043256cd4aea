// Files of charts and of their numbers.
#include "charts/chart_export.h"

#include "chart_tables.h"
#include "charts/chart_colors.h"
#include "charts/csv_export.h"

#include <QFile>
#include <QImage>
#include <QPainter>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <bit>

using namespace millrace;
using namespace millrace::ui;

namespace {

QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

int count(const QImage& image, const QColor& color) {
  int found = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      if (image.pixelColor(x, y).rgb() == color.rgb()) ++found;
  return found;
}

double awkward(std::int64_t row) {
  switch (row % 8) {
  case 0:
    return 0.1;
  case 1:
    return 1.0 / 3;
  case 2:
    return -0.0;
  case 3:
    return std::numeric_limits<double>::denorm_min();
  case 4:
    return std::numeric_limits<double>::max();
  case 5:
    return notANumber;
  case 6:
    return infinity;
  default:
    return -infinity;
  }
}

/// The error; empty when it is written.
QString exportCsv(const LiveChart& chart, const QString& path, bool onlyInView) {
  CsvExport file(chart, path, onlyInView);
  QSignalSpy finished(&file, &CsvExport::finished);
  file.start();
  return finished.wait(60'000) ? finished.first().first().toString() : QStringLiteral("it did not finish");
}

double parsed(const QByteArray& text) {
  if (text == "nan") return notANumber;
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  return text.toDouble();
}

} // namespace

class TestChartExport : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    QPalette palette(Qt::black);
    palette.setColor(QPalette::Base, QColor(0xff16181c));
    palette.setColor(QPalette::Text, Qt::white);
    m_chart = std::make_unique<LiveChart>(QStringLiteral("loss"), QStringLiteral("nats"));
    m_chart->setPalette(palette);
  }
  void cleanup() {
    m_chart.reset();
    m_folder.reset();
  }

  void valuesComeBackBitForBit() {
    const auto table = tableOf(3000, awkward);
    m_chart->addSeries(seriesOf(table, QStringLiteral("a")));
    const QString path = m_folder->filePath(QStringLiteral("all.csv"));
    QCOMPARE(exportCsv(*m_chart, path, false), QString());
    const QList<QByteArray> lines = contents(path).split('\n');
    QCOMPARE(lines.size(), 3002);
    QCOMPARE(lines.first(), QByteArray("series,step,tokens,time,loss"));
    QCOMPARE(lines.last(), QByteArray());
    for (std::int64_t row = 0; row < table->rows(); ++row) {
      const QList<QByteArray> fields = lines[row + 1].split(',');
      QCOMPARE(fields.size(), 5);
      for (int column = 0; column < 4; ++column) {
        const double expected = table->value(column, row), actual = parsed(fields[column + 1]);
        if (std::isnan(expected))
          QVERIFY(std::isnan(actual));
        else
          QCOMPARE(std::bit_cast<std::uint64_t>(actual), std::bit_cast<std::uint64_t>(expected));
      }
    }
    const QByteArray text = contents(path);
    QVERIFY(text.contains("\na,5,5000,1700000010,1.7976931348623157e+308\n"
                          "a,6,6000,1700000012,nan\n"
                          "a,7,7000,1700000014,inf\n"
                          "a,8,8000,1700000016,-inf\n"));
  }

  /// A million rows take a second in all; other events are served in between.
  void theWindowIsNotHeld() {
    m_chart->addSeries(seriesOf(tableOf(200'000, awkward), QStringLiteral("a")));
    CsvExport file(*m_chart, m_folder->filePath(QStringLiteral("large.csv")), false);
    QSignalSpy finished(&file, &CsvExport::finished);
    int others = 0;
    QTimer timer;
    connect(&timer, &QTimer::timeout, this, [&] { ++others; });
    timer.start(0);
    file.start();
    QCOMPARE(finished.size(), 0);
    QVERIFY(finished.wait(60'000));
    QVERIFY2(others >= 5, qPrintable(QString::number(others)));
  }

  void seriesInView_data() {
    QTest::addColumn<bool>("onlyInView");
    QTest::addColumn<int>("lines");
    QTest::newRow("all") << false << 1 + 100 + 100;
    QTest::newRow("in view") << true << 1 + 11 + 11;
  }
  void seriesInView() {
    QFETCH(bool, onlyInView);
    QFETCH(int, lines);
    const auto value = [](std::int64_t row) { return static_cast<double>(row) / 4; };
    m_chart->addSeries(seriesOf(tableOf(100, value), QStringLiteral("a, \"b\"")));
    m_chart->addSeries(seriesOf(tableOf(100, value), QStringLiteral("other")));
    QVERIFY(showAndSettle(*m_chart));
    m_chart->showX({50, 60});
    const QString path = m_folder->filePath(QStringLiteral("series.csv"));
    QCOMPARE(exportCsv(*m_chart, path, onlyInView), QString());
    const QByteArray text = contents(path);
    QCOMPARE(text.count('\n'), lines);
    QVERIFY(text.startsWith("series,step,tokens,time,loss\n\"a, \"\"b\"\"\","));
    QVERIFY(text.contains("\nother,55,55000,1700000110,13.5\n"));
  }

  void png() {
    m_chart->addSeries(seriesOf(tableOf(100, [](std::int64_t row) { return static_cast<double>(row); })));
    for (const bool print : {false, true}) {
      const QString path = m_folder->filePath(QStringLiteral("chart.png"));
      QVERIFY(exportPng(*m_chart, path, {400, 250}, 2, print).has_value());
      const QImage image(path);
      QCOMPARE(image.size(), QSize(800, 500));
      QCOMPARE(image.pixelColor(3, 497).rgb(), print ? QColor(Qt::white).rgb() : QColor(0xff16181c).rgb());
      QVERIFY(count(image, seriesColors(!print)[0]) > 100);
      QCOMPARE(count(image, seriesColors(print)[0]), 0);
    }
  }

  void screenIsAsBefore() {
    m_chart->addSeries(seriesOf(tableOf(5000, [](std::int64_t row) { return static_cast<double>(row % 40); })));
    QVERIFY(showAndSettle(*m_chart));
    m_chart->setCursor(700);
    QVERIFY(settle(*m_chart));
    const QImage before = m_chart->grab().toImage();
    QVERIFY(exportSvg(*m_chart, m_folder->filePath(QStringLiteral("chart.svg")), {300, 200}).has_value());
    QVERIFY(settle(*m_chart));
    QCOMPARE(m_chart->grab().toImage(), before);
    QCOMPARE(*m_chart->cursor(), 700.0);
  }

  void svg_data() {
    QTest::addColumn<qint64>("rows");
    QTest::newRow("few points") << qint64{50};
    QTest::newRow("many points") << qint64{200'000};
  }
  void svg() {
    QFETCH(qint64, rows);
    m_chart->addSeries(seriesOf(tableOf(rows, [](std::int64_t row) { return 5 + static_cast<double>(row % 2); })));
    const QString path = m_folder->filePath(QStringLiteral("chart.svg"));
    QVERIFY(exportSvg(*m_chart, path, {500, 300}).has_value());
    QVERIFY(contents(path).size() < 500'000);
    QSvgRenderer renderer(path);
    QVERIFY(renderer.isValid());
    QCOMPARE(renderer.viewBox(), QRect(0, 0, 500, 300));
    QVERIFY(contents(path).contains("width=\"132.")); // mm of 500 pixels of SVG
    QImage image(500, 300, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    renderer.render(&painter);
    painter.end();
    // Print's blue on white, in the middle of the plot where the curve is.
    int ink = 0;
    for (int x = 150; x < 450; ++x)
      for (int y = 60; y < 220; ++y) ink += image.pixelColor(x, y).blue() - image.pixelColor(x, y).red() > 60 ? 1 : 0;
    QVERIFY2(ink > 300, qPrintable(QString::number(ink)));
    QCOMPARE(image.pixelColor(2, 298).rgb(), QColor(Qt::white).rgb());
  }

  void errorsNameTheFile_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"csv", "png", "svg"}) QTest::newRow(kind) << QString::fromLatin1(kind);
  }
  void errorsNameTheFile() {
    QFETCH(QString, kind);
    const auto table = tableOf(10, [](std::int64_t) { return 1.0; });
    m_chart->addSeries(seriesOf(table));
    const QString path = m_folder->filePath(QStringLiteral("no such folder/file"));
    if (kind == QStringLiteral("csv")) {
      QVERIFY(exportCsv(*m_chart, path, false).contains("no such folder/file"));
      return;
    }
    const Result<void> result =
        kind == QStringLiteral("png") ? exportPng(*m_chart, path, {100, 100}) : exportSvg(*m_chart, path, {100, 100});
    QVERIFY(!result);
    QVERIFY2(result.error().message.find("no such folder/file") != std::string::npos, result.error().message.c_str());
  }

  void failureLeavesTheOldFile() {
    const QString path = m_folder->filePath(QStringLiteral("kept.csv"));
    QCOMPARE(exportCsv(*m_chart, path, false), QString());
    const QByteArray before = contents(path);
    QVERIFY(!exportPng(*m_chart, path, {0, 0}).has_value());
    QCOMPARE(contents(path), before);
  }

 private:
  std::unique_ptr<QTemporaryDir> m_folder;
  std::unique_ptr<LiveChart> m_chart;
};

QTEST_MAIN(TestChartExport)
#include "test_chart_export.moc"

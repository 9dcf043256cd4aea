// Charts of values that leave no room between their axes' lines.
#include "run/svg_chart.h"

#include <QTest>
#include <QXmlStreamReader>
#include <cmath>
#include <limits>

using namespace millrace;

class TestSvgChart : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void drawsAnything_data() {
    QTest::addColumn<QList<double>>("values");
    const double x = 7.123456789;
    QTest::newRow("nothing") << QList<double>{};
    QTest::newRow("one") << QList<double>{x};
    QTest::newRow("one and its neighbour") << QList<double>{x, std::nextafter(x, 8)};
    QTest::newRow("a few units in the last place") << QList<double>{x, x + 4e-15, x - 4e-15};
    QTest::newRow("large and close") << QList<double>{1e17, std::nextafter(1e17, 2e17)};
    QTest::newRow("zeros") << QList<double>{0, 0, 0};
    QTest::newRow("tiny") << QList<double>{1e-300, 2e-300};
    QTest::newRow("huge") << QList<double>{-1e300, 1e300};
    QTest::newRow("not finite") << QList<double>{std::nan(""), std::numeric_limits<double>::infinity()};
    QTest::newRow("ordinary") << QList<double>{9, 5, 3, 2.5};
  }
  void drawsAnything() {
    QFETCH(QList<double>, values);
    ChartDescription chart;
    chart.title = "a < b & \"c\"";
    chart.xLabel = "step";
    chart.yLabel = "loss";
    ChartSeries series{"train", {}, {}, false, false};
    for (qsizetype i = 0; i < values.size(); ++i) {
      series.x.push_back(static_cast<double>(i + 1));
      series.y.push_back(values[i]);
    }
    chart.series.push_back(series);
    const std::string text = svgChart(chart);
    QVERIFY(text.size() < 20'000);
    QXmlStreamReader reader(QByteArray::fromStdString(text));
    while (!reader.atEnd()) reader.readNext();
    QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
    QVERIFY(text.find("nan") == std::string::npos && text.find("inf") == std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestSvgChart)
#include "test_svg_chart.moc"

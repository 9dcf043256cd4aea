// What a chart paints, when, and which ranges it shows.
#include "charts/live_chart.h"

#include "chart_tables.h"
#include "charts/chart_colors.h"
#include "charts/legend_strip.h"

#include <QScrollArea>
#include <QSignalSpy>

using namespace millrace;
using namespace millrace::ui;

namespace {

double wavy(std::int64_t row) {
  return 5 + std::sin(static_cast<double>(row) / 50);
}

QPalette paletteOf(const QColor& base, const QColor& text) {
  QPalette palette(base);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::Text, text);
  return palette;
}

QImage picture(LiveChart& chart) {
  return chart.grab().toImage();
}

/// Pixels of exactly this colour in the rectangle.
int count(const QImage& image, const QColor& color, const QRect& area) {
  int found = 0;
  for (int y = std::max(0, area.top()); y <= std::min(area.bottom(), image.height() - 1); ++y)
    for (int x = std::max(0, area.left()); x <= std::min(area.right(), image.width() - 1); ++x)
      if (image.pixelColor(x, y).rgb() == color.rgb()) ++found;
  return found;
}

/// So many pixels at the upper or lower edge of the plot, around x.
QRect edge(const LiveChart& chart, bool top, double x, int halfWidth = 3) {
  const QRect area = chart.plotArea();
  const int pixel = static_cast<int>(std::lround(chart.pixelOfX(x)));
  return {pixel - halfWidth, top ? area.top() : area.bottom() - 7, 2 * halfWidth + 1, 8};
}

} // namespace

class TestLiveChart : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QGuiApplication::setPalette(paletteOf(Qt::white, Qt::black)); }

  void saysThatThereIsNothing() {
    const auto table = tableOf(0, {});
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    const QRect middle(chart.plotArea().center() - QPoint(60, 12), QSize(120, 24));
    const auto darkPixels = [&] {
      const QImage image = picture(chart);
      int found = 0;
      for (int y = middle.top(); y <= middle.bottom(); ++y)
        for (int x = middle.left(); x <= middle.right(); ++x) found += qGray(image.pixel(x, y)) < 150 ? 1 : 0;
      return found;
    };
    QVERIFY(darkPixels() > 40);
    QVERIFY(!chart.xExtent());
    appendValues(*table, 10, [](std::int64_t row) { return static_cast<double>(row * row * row); });
    QVERIFY(settle(chart));
    QCOMPARE(darkPixels(), 0);
  }

  void followsUntilZoomed() {
    const auto table = tableOf(1000, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    QVERIFY(chart.xView().lower <= 1 && chart.xView().upper >= 1000 && chart.xView().upper < 1050);
    appendValues(*table, 1000, wavy);
    QVERIFY(settle(chart));
    QVERIFY(chart.xView().upper >= 2000);
    chart.showX({100, 200});
    appendValues(*table, 1000, wavy);
    QVERIFY(settle(chart));
    QCOMPARE(chart.xView(), (Range{100, 200}));
    chart.fit();
    QVERIFY(settle(chart));
    QVERIFY(chart.xView().upper >= 3000);
  }

  void yFitsWhatIsInView() {
    const auto table =
        tableOf(1000, [](std::int64_t row) { return (row < 500 ? 1 : 100) + static_cast<double>(row % 2); });
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    QVERIFY(chart.yView().lower < 1 && chart.yView().upper > 101 && chart.yView().upper < 115);
    chart.showX({100, 200});
    QVERIFY(settle(chart));
    QVERIFY(chart.yView().lower < 1 && chart.yView().upper > 2 && chart.yView().upper < 2.5);
    chart.zoomY(0.5, 1.5);
    const Range chosen = chart.yView();
    chart.showX({600, 700});
    QVERIFY(settle(chart));
    QCOMPARE(chart.yView(), chosen); // the user's, until the next fit
    chart.fit();
    QVERIFY(settle(chart));
    QVERIFY(chart.yView().upper > 101);
    chart.setYAtLeast(Range{0, 200});
    QVERIFY(settle(chart));
    QVERIFY(chart.yView().lower <= 0 && chart.yView().upper >= 200);
  }

  void logarithmicAxis() {
    const auto table = tableOf(400, [](std::int64_t row) { return std::pow(10, static_cast<double>(row) / 100); });
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    chart.setLogarithmic(true);
    QVERIFY(showAndSettle(chart));
    // Decades are evenly apart, to a fraction of a pixel.
    const double decade = chart.pixelOfY(1) - chart.pixelOfY(10);
    QVERIFY(decade > 30);
    QVERIFY(std::abs(chart.pixelOfY(100) - chart.pixelOfY(1000) - decade) < 1e-6);
    // The curve is a straight line there.
    const QImage image = picture(chart);
    const QColor color = seriesColors(false)[0];
    for (const double x : {50.0, 150.0, 250.0, 350.0}) {
      const QPoint at(static_cast<int>(chart.pixelOfX(x)),
                      static_cast<int>(chart.pixelOfY(std::pow(10, (x - 1) / 100))));
      QVERIFY(count(image, color, {at - QPoint(2, 2), QSize(5, 5)}) > 0);
    }
  }

  void logarithmicRangeLeavesOutWhatItCannotShow() {
    const auto table = tableOf(100, [](std::int64_t row) {
      return row == 20 ? 0.0 : row == 30 ? -5.0 : 10 + static_cast<double>(row);
    });
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    chart.setLogarithmic(true);
    QVERIFY(showAndSettle(chart));
    QVERIFY(chart.yView().lower > 5 && chart.yView().lower <= 10);
  }

  void marks_data() {
    QTest::addColumn<double>("odd");
    QTest::addColumn<bool>("logarithmic");
    QTest::addColumn<bool>("top");
    QTest::addColumn<bool>("marked");
    QTest::addColumn<bool>("marksNan");
    QTest::newRow("nan") << notANumber << false << true << true << true;
    QTest::newRow("nan on a logarithmic axis") << notANumber << true << true << true << true;
    QTest::newRow("nan that means not known") << notANumber << false << true << false << false;
    QTest::newRow("infinity") << infinity << false << true << true << true;
    QTest::newRow("infinity, nan not known") << infinity << false << true << true << false;
    QTest::newRow("-infinity") << -infinity << false << false << true << true;
    QTest::newRow("zero on a logarithmic axis") << 0.0 << true << false << true << true;
    QTest::newRow("negative on a logarithmic axis") << -3.0 << true << false << true << true;
  }
  void marks() {
    QFETCH(double, odd);
    QFETCH(bool, logarithmic);
    QFETCH(bool, top);
    QFETCH(bool, marked);
    QFETCH(bool, marksNan);
    // Exact points, and far more rows than pixels.
    for (const std::int64_t rows : {std::int64_t{100}, std::int64_t{200'000}}) {
      const std::int64_t place = rows / 3;
      const auto table = tableOf(rows, [&](std::int64_t row) {
        return row == place ? odd : 5 + std::sin(static_cast<double>(row) / static_cast<double>(rows) * 6);
      });
      LiveChart chart(QStringLiteral("loss"));
      ChartSeries series = seriesOf(table);
      series.marksNan = marksNan;
      chart.addSeries(series);
      chart.setLogarithmic(logarithmic);
      chart.setYAtLeast(Range{2, 10}); // the curve is away from the edges
      QVERIFY(showAndSettle(chart));
      const QColor color = seriesColors(false)[0];
      const QImage image = picture(chart);
      const auto at = static_cast<double>(place + 1);
      QCOMPARE(count(image, color, edge(chart, top, at)) > 3, marked);
      QCOMPARE(count(image, color, edge(chart, !top, at)), 0);
      QCOMPARE(count(image, color, edge(chart, top, static_cast<double>(rows) * 0.7, 30)), 0);
    }
  }

  void marksDiffer() {
    QList<QImage> shapes;
    for (const double odd : {notANumber, infinity, -infinity, 0.0}) {
      const auto table = tableOf(60, [&](std::int64_t row) { return row == 30 ? odd : 5.0; });
      LiveChart chart(QStringLiteral("loss"));
      chart.addSeries(seriesOf(table));
      chart.setLogarithmic(true);
      chart.setYAtLeast(Range{1, 10});
      QVERIFY(showAndSettle(chart));
      const bool top = !(odd <= 0);
      shapes.push_back(picture(chart).copy(edge(chart, top, 31, 5)));
    }
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < i; ++j) QVERIFY(shapes[i] != shapes[j]);
  }

  void spikeNeverVanishes_data() {
    QTest::addColumn<double>("smoothing");
    QTest::newRow("raw") << 0.0;
    QTest::newRow("smoothed") << 0.98;
  }
  void spikeNeverVanishes() {
    QFETCH(double, smoothing);
    constexpr std::int64_t rows = 300'000, place = 123'456;
    const auto table =
        tableOf(rows, [](std::int64_t row) { return row == place ? 50.0 : 1 + static_cast<double>(row % 3) / 100; });
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    chart.setSmoothing(smoothing);
    QVERIFY(showAndSettle(chart));
    const ChartColors colors = chartColors(chart.palette());
    const QColor color = smoothing > 0 ? colors.faint(colors.series(0)) : colors.series(0);
    for (double span = 3.0 * rows; span > 10; span /= 7) {
      chart.showX({place - span * 0.4, place + span * 0.6});
      QVERIFY(settle(chart));
      const int top = static_cast<int>(chart.pixelOfY(48)), x = static_cast<int>(chart.pixelOfX(place + 1));
      // Antialiased where there are few points: any ink counts.
      const QImage image = picture(chart);
      int ink = 0;
      for (int column = x - 2; column <= x + 2; ++column) {
        const QColor pixel = image.pixelColor(column, top);
        if (pixel.blue() - pixel.red() > (color.blue() - color.red()) / 3) ++ink;
      }
      QVERIFY2(ink > 0, qPrintable(QString::number(span)));
    }
  }

  void loneValuesAreSeen() {
    const auto table = tableOf(100, [](std::int64_t row) { return row == 40 || row == 10 ? 5.0 : notANumber; });
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    const QPoint at(static_cast<int>(chart.pixelOfX(41)), static_cast<int>(chart.pixelOfY(5)));
    QVERIFY(count(picture(chart), seriesColors(false)[0], {at - QPoint(3, 3), QSize(7, 7)}) > 2);
  }

  void smoothingDrawsBoth() {
    const auto table = tableOf(5000, [](std::int64_t row) { return 5 + static_cast<double>(row % 2); });
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    chart.setSmoothing(0.99);
    QVERIFY(showAndSettle(chart));
    const ChartColors colors = chartColors(chart.palette());
    const QImage image = picture(chart);
    const QRect area = chart.plotArea();
    QVERIFY(count(image, colors.faint(colors.series(0)), area) > area.width() * area.height() / 2);
    const int middle = static_cast<int>(chart.pixelOfY(5.5));
    QVERIFY(count(image, colors.series(0), {area.left(), middle - 1, area.width(), 3}) > area.width() / 2);
  }

  void paletteIsFollowedLive() {
    const auto table = tableOf(100, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    const QRect area = chart.plotArea();
    QVERIFY(count(picture(chart), seriesColors(false)[0], area) > 50);
    const QColor base(0xff16181c);
    chart.setPalette(paletteOf(base, Qt::white));
    QVERIFY(settle(chart));
    const QImage dark = picture(chart);
    QVERIFY(count(dark, seriesColors(true)[0], area) > 50);
    QCOMPARE(count(dark, seriesColors(false)[0], area), 0);
    QCOMPARE(dark.pixelColor(2, dark.height() - 2).rgb(), base.rgb());
  }

  void repaintsOnlyWhenSomethingChanged() {
    const auto table = tableOf(100, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    const std::int64_t frames = chart.framesPainted();
    QCoreApplication::processEvents();
    QVERIFY(!chart.isFramePending());
    QCOMPARE(chart.framesPainted(), frames);
    for (int i = 0; i < 50; ++i) appendValues(*table, 1, wavy);
    QVERIFY(chart.isFramePending());
    QVERIFY(settle(chart));
    QCOMPARE(chart.framesPainted(), frames + 1); // one for all of them
  }

  void hiddenChartsDoNotPaint() {
    const auto table = tableOf(100, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(!chart.isFramePending());
    QVERIFY(showAndSettle(chart));
    chart.hide();
    const std::int64_t frames = chart.framesPainted();
    appendValues(*table, 100, wavy);
    QTRY_VERIFY(!chart.isFramePending());
    QCOMPARE(chart.framesPainted(), frames);
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    QVERIFY(settle(chart));
    QVERIFY(chart.framesPainted() > frames);
    QVERIFY(chart.xView().upper >= 200);
  }

  void chartsScrolledOutOfSightDoNotPaint() {
    const auto table = tableOf(100, wavy);
    QScrollArea scroll;
    auto* inside = new QWidget;
    inside->setFixedSize(400, 3000);
    auto* chart = new LiveChart(QStringLiteral("loss"));
    chart->setParent(inside);
    chart->setGeometry(0, 0, 380, 200);
    chart->addSeries(seriesOf(table));
    scroll.setWidget(inside);
    scroll.resize(420, 300);
    scroll.show();
    QVERIFY(QTest::qWaitForWindowExposed(&scroll));
    QVERIFY(settle(*chart));
    scroll.ensureVisible(0, 2900);
    QCoreApplication::processEvents();
    const std::int64_t frames = chart->framesPainted();
    appendValues(*table, 100, wavy);
    QVERIFY(!chart->isFramePending());
    scroll.ensureVisible(0, 0);
    QTRY_VERIFY(chart->framesPainted() > frames);
    QVERIFY(chart->xView().upper >= 200);
  }

  void slowPaintingIsSeldom() {
    const auto table = tableOf(100, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    // Every look at the clock takes time: as if painting did.
    double now = 0, perLook = 0.001;
    chart.setClock([&] { return now += perLook; });
    QVERIFY(showAndSettle(chart));
    QCOMPARE(chart.pace().interval(), RepaintPace::fastest);
    perLook = 0.2;
    for (int i = 0; i < 12; ++i) {
      appendValues(*table, 1, wavy);
      QVERIFY(settle(chart));
      now += 10;
    }
    QCOMPARE(chart.pace().interval(), RepaintPace::slowest);
    perLook = 0.001;
    for (int i = 0; i < 30; ++i) {
      appendValues(*table, 1, wavy);
      QVERIFY(settle(chart));
      now += 10;
    }
    QCOMPARE(chart.pace().interval(), RepaintPace::fastest);
  }

  void readoutIsOfTheNearestRows() {
    const auto train = tableOf(2000, [](std::int64_t row) { return 1 + static_cast<double>(row) / 1000; });
    const auto validation = tableOf(0, {});
    const std::vector<double> rows = {1000, 1e6, 1.7e9, 2.4, 2000, 2e6, 1.8e9, 2.1};
    QVERIFY(validation->appendRows(rows).has_value());
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(train));
    ChartSeries points = seriesOf(validation, QStringLiteral("validation"));
    points.style = ChartSeries::Style::Points;
    chart.addSeries(points);
    chart.setSmoothing(0.9); // no reason to show anything but what was measured
    QVERIFY(showAndSettle(chart));
    QCOMPARE(chart.readout(), QString());
    chart.setCursor(1233.8);
    QVERIFY(settle(chart));
    QCOMPARE(chart.readout(), QStringLiteral("step 1,234 - train 2.233 - validation 2.4 at step 1,000"));
  }

  void xAxisKindKeepsTheRowsInView() {
    const auto table = tableOf(1000, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(table));
    QVERIFY(showAndSettle(chart));
    chart.showX({200, 300});
    chart.setXAxisKind(XAxisKind::Tokens);
    QVERIFY(settle(chart));
    QCOMPARE(chart.xView(), (Range{200'000, 300'000}));
    chart.setXAxisKind(XAxisKind::Time);
    QVERIFY(settle(chart));
    QCOMPARE(chart.xView(), (Range{398, 598}));
    QVERIFY(chart.accessibleName().contains(QStringLiteral("time")));
  }

  void longNamesAreCutToWhatDiffers_data() {
    QTest::addColumn<QStringList>("names");
    QTest::addColumn<QStringList>("expected");
    const auto row = [](const char* name, const char* names, const char* expected) {
      QTest::newRow(name) << QString::fromUtf8(names).split(u' ') << QString::fromUtf8(expected).split(u' ');
    };
    row("one", "only-one", "only-one");
    row("nothing in common", "alpha beta", "alpha beta");
    row("start", "run-lr-1 run-lr-2", "…1 …2");
    row("end", "a-seed b-seed", "a-… b-…");
    row("both ends", "run-a-x run-b-x", "…a-… …b-…");
    row("between", "w100-batch8-s1 w200-batch8-s2", "w100-…s1 w200-…s2");
    row("of other length", "run-a run-b-c", "…a …b-c");
    row("the same", "run-a run-a", "run-a run-a");
    row("one begins the other", "run run-a", "run run-a");
  }
  void longNamesAreCutToWhatDiffers() {
    QFETCH(QStringList, names);
    QFETCH(QStringList, expected);
    QCOMPARE(shortNames(names).join(u' '), expected.join(u' '));
  }

  void seriesCanBeReplaced() {
    const auto one = tableOf(100, wavy), other = tableOf(500, wavy);
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(one));
    QVERIFY(showAndSettle(chart));
    chart.clearSeries();
    QVERIFY(settle(chart));
    QCOMPARE(chart.seriesCount(), 0);
    appendValues(*one, 1, wavy);
    QVERIFY(!chart.isFramePending());
    chart.addSeries(seriesOf(other));
    QVERIFY(settle(chart));
    QVERIFY(chart.xView().upper >= 500);
  }
};

QTEST_MAIN(TestLiveChart)
#include "test_live_chart.moc"

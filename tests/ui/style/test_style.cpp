#include "style/elided_label.h"
#include "style/icons.h"
#include "style/numbers.h"
#include "style/status_colors.h"
#include "style/theme.h"
#include "style/workbench_style.h"

#include <QApplication>
#include <QDir>
#include <QtTest>
#include <cmath>
#include <limits>

using namespace millrace::ui;

class TestStyle : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QLocale::setDefault(QLocale::c()); }

  void textsHaveContrast_data() {
    QTest::addColumn<QPalette>("palette");
    QTest::newRow("light") << lightPalette();
    QTest::newRow("dark") << darkPalette();
  }
  /// WCAG AA: 4.5 to 1.
  void textsHaveContrast() {
    QFETCH(QPalette, palette);
    const auto check = [&](QPalette::ColorGroup group, QPalette::ColorRole text, QPalette::ColorRole ground,
                           double least) {
      const double ratio = contrastRatio(palette.color(group, text), palette.color(group, ground));
      QVERIFY2(ratio >= least, qPrintable(QString("%1 on %2: %3").arg(text).arg(ground).arg(ratio)));
    };
    for (const QPalette::ColorRole ground :
         {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button, QPalette::ToolTipBase}) {
      for (const QPalette::ColorRole text : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                                             QPalette::ToolTipText, QPalette::PlaceholderText})
        check(QPalette::Active, text, ground, 4.5);
      for (const QPalette::ColorRole text : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        check(QPalette::Disabled, text, ground, 3);
    }
    for (const QPalette::ColorRole ground : {QPalette::Window, QPalette::Base})
      QVERIFY(contrastRatio(outlineColor(palette), palette.color(ground)) >= 3);
    check(QPalette::Active, QPalette::HighlightedText, QPalette::Highlight, 4.5);
    check(QPalette::Active, QPalette::Link, QPalette::Base, 4.5);
    check(QPalette::Active, QPalette::LinkVisited, QPalette::Base, 4.5);
    check(QPalette::Active, QPalette::Link, QPalette::Window, 4.5);
  }

  void everyIconIsDrawnInTheTextColour() {
    const QDir icons(":/icons");
    const QStringList names = icons.entryList({"*.svg"});
    QVERIFY(names.size() > 10);
    for (const QPalette& palette : {lightPalette(), darkPalette()}) {
      QApplication::setPalette(palette);
      for (const QString& name : names) {
        const QIcon drawn = icon(name.chopped(4));
        QVERIFY2(!drawn.isNull(), qPrintable(name));
        const QImage image = drawn.pixmap(QSize(32, 32), 2.0).toImage();
        int marks = 0;
        for (int y = 0; y < image.height(); ++y)
          for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y).alpha() > 250) ++marks;
        QVERIFY2(marks > 20, qPrintable(name));
        if (name == "millrace.svg") continue;
        const QColor text = palette.color(QPalette::ButtonText);
        for (int y = 0; y < image.height(); ++y)
          for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y).alpha() == 255)
              QVERIFY(std::abs(image.pixelColor(x, y).lightness() - text.lightness()) < 8);
      }
    }
    QVERIFY(icon("absent").isNull());
  }

  void shortCounts_data() {
    QTest::addColumn<double>("count");
    QTest::addColumn<QString>("text");
    QTest::newRow("0") << 0.0 << "0";
    QTest::newRow("small") << 12.0 << "12";
    QTest::newRow("fraction") << 12.34 << "12.3";
    QTest::newRow("999") << 999.0 << "999";
    QTest::newRow("rounds up") << 999.6 << QString("1.00\u00a0k");
    QTest::newRow("k") << 4210.0 << QString("4.21\u00a0k");
    QTest::newRow("M") << 12.34e6 << QString("12.3\u00a0M");
    QTest::newRow("B") << 7.62e9 << QString("7.62\u00a0B");
    QTest::newRow("small fraction") << 0.0523 << "0.0523";
    QTest::newRow("T") << 1.5e13 << QString("15.0\u00a0T");
    QTest::newRow("beyond") << 1e21 << QString("1000000000\u00a0T");
    QTest::newRow("negative") << -4210.0 << QString("-4.21\u00a0k");
    QTest::newRow("nan") << std::nan("") << "nan";
  }
  void shortCounts() {
    QFETCH(double, count);
    QTEST(shortCountText(count), "text");
  }

  void durations_data() {
    QTest::addColumn<double>("seconds");
    QTest::addColumn<QString>("text");
    const QString gap(QChar::Nbsp);
    QTest::newRow("part") << 0.25 << "0.25" + gap + "s";
    QTest::newRow("seconds") << 42.4 << "42" + gap + "s";
    QTest::newRow("minutes") << 200.0 << "3" + gap + "min 20" + gap + "s";
    QTest::newRow("just below an hour") << 3599.7 << "1" + gap + "h";
    QTest::newRow("hours") << 3600.0 * 5 + 120 << "5" + gap + "h 2" + gap + "min";
    QTest::newRow("days") << 86400.0 * 3 + 3600 * 7 << "3" + gap + "d 7" + gap + "h";
    QTest::newRow("many days") << 86400.0 * 321 << "321 days";
    QTest::newRow("years") << 86400 * 365.25 * 12 << "12 years";
    QTest::newRow("thousands of years") << 86400 * 365.25 * 3520 << countText(3520) + " years";
    QTest::newRow("hundreds of thousands") << 86400 * 365.25 * 352'000 << countText(352'000) + " years";
    QTest::newRow("millions of years") << 86400 * 365.25 * 23e6 << "23 million years";
    QTest::newRow("billions of years") << 86400 * 365.25 * 4.5e9 << "4.5 billion years";
    QTest::newRow("not known") << -1.0 << "unknown";
    QTest::newRow("endless") << std::numeric_limits<double>::infinity() << "unknown";
  }
  void durations() {
    QFETCH(double, seconds);
    QTEST(durationText(seconds), "text");
  }

  void bytes() {
    QCOMPARE(bytesText(0), QString("0\u00a0B"));
    QCOMPARE(bytesText(1023), QString("1023\u00a0B"));
    QCOMPARE(bytesText(1536), QString("1.50\u00a0KiB"));
    QCOMPARE(bytesText(std::int64_t{1212} << 30), QString("1.18\u00a0TiB"));
    QCOMPARE(bytesText(-(std::int64_t{3} << 20)), QString("-3.00\u00a0MiB"));
    QCOMPARE(bytesText(INT64_MAX), QString("8.00\u00a0EiB"));
  }

  /// A name of any length takes what room there is, and is whole in the tooltip.
  void longTextsGiveWay() {
    ElidedLabel label;
    const QString name(5000, 'x');
    label.setText(name);
    QVERIFY(label.minimumSizeHint().width() < 200);
    label.resize(150, label.sizeHint().height());
    QCOMPARE(label.toolTip(), name);
    QCOMPARE(label.accessibleName(), name);
    QVERIFY(!label.grab().isNull());
  }
};

QTEST_MAIN(TestStyle)
#include "test_style.moc"

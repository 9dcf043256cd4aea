// Series can be seen on both backgrounds and told apart.
#include "charts/chart_colors.h"

#include <QTest>
#include <algorithm>
#include <cmath>

using namespace millrace::ui;

namespace {

/// WCAG 2.1.
double luminance(const QColor& color) {
  const auto linear = [](double value) {
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

double contrast(const QColor& one, const QColor& other) {
  const double a = luminance(one), b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

struct Theme {
  const char* name;
  bool dark;
  QColor base;
  QColor window;
  QColor text;
};

/// As style/ has them.
const Theme themes[] = {{"light", false, QColor(0xffffffff), QColor(0xfff4f5f7), QColor(0xff1b1f24)},
                        {"dark", true, QColor(0xff16181c), QColor(0xff1e2126), QColor(0xffe6e8eb)}};

} // namespace

class TestChartColors : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void contrastsWithBackground_data() {
    QTest::addColumn<int>("theme");
    QTest::addColumn<int>("index");
    for (int theme = 0; theme < 2; ++theme)
      for (int index = 0; index < seriesColorCount; ++index)
        QTest::addRow("%s %d", themes[theme].name, index) << theme << index;
  }
  void contrastsWithBackground() {
    QFETCH(int, theme);
    QFETCH(int, index);
    const QColor color = seriesColors(themes[theme].dark)[static_cast<std::size_t>(index)];
    for (const QColor& background : {themes[theme].base, themes[theme].window})
      QVERIFY2(contrast(color, background) >= 3, qPrintable(QString::number(contrast(color, background))));
  }

  void noTwoLookTheSame() {
    for (const bool dark : {false, true}) {
      const auto& colors = seriesColors(dark);
      for (int i = 0; i < seriesColorCount; ++i)
        for (int j = 0; j < i; ++j) {
          const QColor &one = colors[static_cast<std::size_t>(i)], &other = colors[static_cast<std::size_t>(j)];
          const int apart = std::abs(one.red() - other.red()) + std::abs(one.green() - other.green()) +
                            std::abs(one.blue() - other.blue());
          QVERIFY2(apart > 60 || seriesDashes(i) != seriesDashes(j),
                   qPrintable(QStringLiteral("%1, %2").arg(i).arg(j)));
        }
    }
  }

  void neighboursDifferInDashes() {
    for (int index = 0; index < 12; ++index) QVERIFY(seriesDashes(index) != seriesDashes(index + 1));
    QVERIFY(seriesDashes(0).isEmpty());
  }

  void textsContrast() {
    for (const Theme& theme : themes) {
      QPalette palette(theme.window);
      palette.setColor(QPalette::Base, theme.base);
      palette.setColor(QPalette::Text, theme.text);
      const ChartColors colors = chartColors(palette);
      QCOMPARE(colors.dark, theme.dark);
      QCOMPARE(colors.background, theme.base);
      QVERIFY(contrast(colors.text, theme.base) >= 7);
      QVERIFY(contrast(colors.dim, theme.base) >= 4.5);
      QVERIFY(contrast(colors.grid, theme.base) < 1.6); // behind everything
      QCOMPARE(colors.series(3), seriesColors(theme.dark)[3]);
      QCOMPARE(colors.series(13), colors.series(3));
    }
    QVERIFY(!chartColors(printPalette()).dark);
  }
};

QTEST_GUILESS_MAIN(TestChartColors)
#include "test_chart_colors.moc"

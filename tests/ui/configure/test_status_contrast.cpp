// What the verdict and the bars are drawn in can be read on both palettes.
#include "style/status_colors.h"
#include "style/theme.h"

#include <QtTest>

using namespace millrace::ui;

class TestStatusContrast : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void contrast_data() {
    QTest::addColumn<QPalette>("palette");
    QTest::newRow("light") << lightPalette();
    QTest::newRow("dark") << darkPalette();
  }
  /// WCAG AA: 4.5 to 1 for texts, 3 to 1 for parts of drawings.
  void contrast() {
    QFETCH(QPalette, palette);
    for (const QPalette::ColorRole ground : {QPalette::Window, QPalette::Base}) {
      for (const StatusKind status : {StatusKind::Good, StatusKind::Warning, StatusKind::Bad, StatusKind::Unknown})
        QVERIFY(contrastRatio(statusColor(status, palette), palette.color(ground)) >= 4.5);
      for (int i = 0; i < 8; ++i) QVERIFY(contrastRatio(segmentColor(i, palette), palette.color(ground)) >= 3);
    }
    QCOMPARE(segmentColor(8, palette), segmentColor(0, palette));
  }

  void ratios() {
    QCOMPARE(contrastRatio(Qt::black, Qt::white), 21.0);
    QCOMPARE(contrastRatio(Qt::white, Qt::black), 21.0);
    QCOMPARE(contrastRatio(Qt::red, Qt::red), 1.0);
    QVERIFY(qAbs(contrastRatio(QColor(0x77, 0x77, 0x77), Qt::white) - 4.48) < 0.01);
  }

  /// Each status has a shape of its own.
  void shapes() {
    QList<QImage> shapes;
    for (const StatusKind status : {StatusKind::Good, StatusKind::Warning, StatusKind::Bad, StatusKind::Unknown}) {
      const QImage image = statusPixmap(status, lightPalette(), 16, 2).toImage().convertToFormat(QImage::Format_Alpha8);
      QCOMPARE(image.size(), QSize(32, 32));
      QVERIFY(!shapes.contains(image));
      shapes << image;
    }
  }
};

QTEST_MAIN(TestStatusContrast)
#include "test_status_contrast.moc"

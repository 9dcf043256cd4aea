// Charts of a group show the same range and the same place.
#include "charts/chart_group.h"

#include "chart_tables.h"

#include <QVBoxLayout>

using namespace millrace;
using namespace millrace::ui;

class TestChartGroup : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_page = std::make_unique<QWidget>();
    auto* layout = new QVBoxLayout(m_page.get());
    m_group = std::make_unique<ChartGroup>();
    m_long = tableOf(1000, [](std::int64_t row) { return static_cast<double>(row); });
    m_short = tableOf(400, [](std::int64_t row) { return 10 * static_cast<double>(row); });
    m_one = new LiveChart(QStringLiteral("loss"));
    m_other = new LiveChart(QStringLiteral("norm"));
    m_one->addSeries(seriesOf(m_long));
    m_other->addSeries(seriesOf(m_short, QStringLiteral("norm")));
    for (LiveChart* chart : {m_one, m_other}) {
      layout->addWidget(chart);
      m_group->add(chart);
    }
    m_page->resize(600, 600);
    m_page->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_page.get()));
    QVERIFY(settleBoth());
  }
  void cleanup() {
    m_page.reset();
    QVERIFY(m_group->charts().empty());
    m_group.reset();
  }

  void rangeIsThatOfAll() {
    QCOMPARE(m_other->xView(), m_one->xView());
    QVERIFY(m_other->xView().upper >= 1000);
    appendValues(*m_long, 1000, [](std::int64_t) { return 1.0; });
    QVERIFY(settleBoth());
    QVERIFY(m_other->xView().upper >= 2000); // though its own rows are the same
    QCOMPARE(m_other->xView(), m_one->xView());
  }

  void zoomIsShared() {
    QTest::keyClick(m_other, Qt::Key_Plus);
    QVERIFY(settleBoth());
    QVERIFY(!m_one->followsX());
    QCOMPARE(m_one->xView(), m_other->xView());
    QTest::keyClick(m_one, Qt::Key_Home);
    QVERIFY(settleBoth());
    QVERIFY(m_one->followsX() && m_other->followsX());
  }

  void yIsNot() {
    m_one->zoomY(0.5, 500);
    QVERIFY(settleBoth());
    QVERIFY(!m_one->followsY() && m_other->followsY());
    m_group->fit();
    QVERIFY(m_one->followsY());
  }

  void crosshairIsShared() {
    const QPoint at = m_one->plotArea().center();
    QTest::mouseMove(m_one, at);
    const double x = m_one->xAt(at.x());
    QVERIFY(m_one->cursor() && m_other->cursor());
    QCOMPARE(*m_other->cursor(), *m_one->cursor());
    const auto step = static_cast<std::int64_t>(std::lround(x));
    QCOMPARE(m_one->readout(), QStringLiteral("step %1 - train %2").arg(step).arg(step - 1));
    QCOMPARE(m_other->readout(), QStringLiteral("step 400 - norm 3,990")); // the nearest that it has
    QTest::mouseMove(m_one, QPoint(1, 1));
    QVERIFY(!m_one->cursor() && !m_other->cursor());
  }

  void kindOfXIsShared() {
    QTest::keyClick(m_one, Qt::Key_Plus);
    QVERIFY(settleBoth());
    const Range steps = m_one->xView();
    m_group->setXAxisKind(XAxisKind::Tokens);
    QVERIFY(settleBoth());
    QCOMPARE(m_one->xView(), m_other->xView());
    QVERIFY(std::abs(m_one->xView().lower - 1000 * steps.lower) <= 1000);
    QVERIFY(std::abs(m_one->xView().upper - 1000 * steps.upper) <= 1000);
  }

  void smoothingIsShared() {
    m_group->setSmoothing(0.9);
    QCOMPARE(m_one->smoothing(), 0.9);
    QCOMPARE(m_other->smoothing(), 0.9);
    LiveChart late(QStringLiteral("late"));
    m_group->add(&late);
    QCOMPARE(late.smoothing(), 0.9);
    QCOMPARE(m_group->charts().size(), 3u);
  }

  void groupMayBeDestroyed() {
    m_group = std::make_unique<ChartGroup>();
    QTest::keyClick(m_other, Qt::Key_Home);
    QVERIFY(settleBoth());
    QVERIFY(m_other->xView().upper < 500); // its own rows
    QVERIFY(m_one->xView().upper >= 1000);
  }

  void chartsMayBeDestroyed() {
    delete m_one;
    QCOMPARE(m_group->charts().size(), 1u);
    QTest::keyClick(m_other, Qt::Key_Plus);
    QTest::mouseMove(m_other, m_other->plotArea().center());
    QTRY_VERIFY(!m_other->isFramePending());
    QTest::keyClick(m_other, Qt::Key_Home);
    QTRY_VERIFY(!m_other->isFramePending());
    QVERIFY(m_other->xView().upper < 500);
  }

 private:
  bool settleBoth() { return settle(*m_one) && settle(*m_other) && settle(*m_one); }

  std::unique_ptr<QWidget> m_page;
  std::unique_ptr<ChartGroup> m_group;
  std::shared_ptr<MetricTable> m_long, m_short;
  LiveChart* m_one = nullptr; ///< the page's, as is the other
  LiveChart* m_other = nullptr;
};

QTEST_MAIN(TestChartGroup)
#include "test_chart_group.moc"

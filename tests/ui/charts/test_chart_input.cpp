// Mouse and keys on the widget itself.
#include "chart_tables.h"

#include <QSignalSpy>
#include <QWheelEvent>

using namespace millrace;
using namespace millrace::ui;

namespace {

bool near(double one, double other, double tolerance) {
  return std::abs(one - other) <= tolerance;
}

void turnWheel(LiveChart& chart, QPoint at, QPoint angle, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
  QWheelEvent event(at, chart.mapToGlobal(at), {}, angle, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(&chart, &event);
}

} // namespace

class TestChartInput : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_table = tableOf(1000, [](std::int64_t row) { return 5 + std::sin(static_cast<double>(row) / 20); });
    m_chart = std::make_unique<LiveChart>(QStringLiteral("loss"));
    m_chart->addSeries(seriesOf(m_table));
    QVERIFY(showAndSettle(*m_chart));
    m_area = m_chart->plotArea();
    QVERIFY(m_area.width() > 300);
  }
  void cleanup() { m_chart.reset(); }

  void wheelZoomsAtTheCursor_data() {
    QTest::addColumn<double>("place");
    QTest::newRow("left") << 0.1;
    QTest::newRow("middle") << 0.5;
    QTest::newRow("right") << 0.9;
  }
  void wheelZoomsAtTheCursor() {
    QFETCH(double, place);
    const QPoint at(m_area.left() + static_cast<int>(m_area.width() * place), m_area.center().y());
    const double x = m_chart->xAt(at.x()), before = m_chart->xView().size();
    turnWheel(*m_chart, at, {0, 120});
    QVERIFY(settle(*m_chart));
    QVERIFY(near(m_chart->xView().size(), before / 1.25, 1e-6 * before));
    QVERIFY(near(m_chart->xAt(at.x()), x, 0.01));
    QVERIFY(!m_chart->followsX());
    QVERIFY(m_chart->followsY());
    turnWheel(*m_chart, at, {0, -240});
    QVERIFY(settle(*m_chart));
    QVERIFY(m_chart->followsX()); // all is in view again
  }

  void controlWheelZoomsY() {
    const QPoint at(m_area.center().x(), m_area.top() + m_area.height() / 4);
    const double y = m_chart->yAt(at.y()), before = m_chart->yView().size();
    turnWheel(*m_chart, at, {0, 120}, Qt::ControlModifier);
    QVERIFY(settle(*m_chart));
    QVERIFY(near(m_chart->yView().size(), before / 1.25, 1e-6));
    QVERIFY(near(m_chart->yAt(at.y()), y, 0.01));
    QVERIFY(!m_chart->followsY());
    QVERIFY(m_chart->followsX());
  }

  void sidewaysWheelPans() {
    m_chart->showX({400, 500});
    QVERIFY(settle(*m_chart));
    turnWheel(*m_chart, m_area.center(), {-120, 0});
    QVERIFY(near(m_chart->xView().lower, 410, 1e-6));
    QVERIFY(near(m_chart->xView().size(), 100, 1e-6));
  }

  void dragSelectsARange_data() {
    QTest::addColumn<bool>("leftwards");
    QTest::newRow("to the right") << false;
    QTest::newRow("to the left") << true;
  }
  void dragSelectsARange() {
    QFETCH(bool, leftwards);
    QPoint from(m_area.left() + m_area.width() / 4, m_area.center().y());
    QPoint to(m_area.left() + m_area.width() / 2, m_area.center().y() + 30);
    const double lower = m_chart->xAt(from.x()), upper = m_chart->xAt(to.x());
    if (leftwards) std::swap(from, to);
    QSignalSpy changed(m_chart.get(), &LiveChart::viewChanged);
    QTest::mousePress(m_chart.get(), Qt::LeftButton, Qt::NoModifier, from);
    QTest::mouseMove(m_chart.get(), (from + to) / 2);
    QTest::mouseMove(m_chart.get(), to);
    QVERIFY(settle(*m_chart));
    QCOMPARE(changed.count(), 0);
    QTest::mouseRelease(m_chart.get(), Qt::LeftButton, Qt::NoModifier, to);
    QVERIFY(near(m_chart->xView().lower, lower, 0.01) && near(m_chart->xView().upper, upper, 0.01));
    QCOMPARE(changed.count(), 1);
  }

  void dragOverTheEdgeEndsThere() {
    const QPoint from(m_area.center());
    QTest::mousePress(m_chart.get(), Qt::LeftButton, Qt::NoModifier, from);
    QTest::mouseMove(m_chart.get(), QPoint(m_chart->width() - 1, from.y()));
    QTest::mouseRelease(m_chart.get(), Qt::LeftButton, Qt::NoModifier, QPoint(m_chart->width() - 1, from.y()));
    QVERIFY(m_chart->xView().upper <= 1000 * 1.011);
    QVERIFY(m_chart->xView().lower > 400);
  }

  void clickChangesNothing() {
    const Range before = m_chart->xView();
    QTest::mouseClick(m_chart.get(), Qt::LeftButton, Qt::NoModifier, m_area.center());
    QCOMPARE(m_chart->xView(), before);
    QVERIFY(m_chart->followsX());
  }

  void escapeGivesUpADrag() {
    QTest::mousePress(m_chart.get(), Qt::LeftButton, Qt::NoModifier, m_area.center());
    QTest::mouseMove(m_chart.get(), m_area.center() + QPoint(80, 0));
    QTest::keyClick(m_chart.get(), Qt::Key_Escape);
    QTest::mouseRelease(m_chart.get(), Qt::LeftButton, Qt::NoModifier, m_area.center() + QPoint(80, 0));
    QVERIFY(m_chart->followsX());
  }

  void dragPans_data() {
    QTest::addColumn<int>("button");
    QTest::addColumn<int>("modifier");
    QTest::newRow("middle") << static_cast<int>(Qt::MiddleButton) << static_cast<int>(Qt::NoModifier);
    QTest::newRow("shift") << static_cast<int>(Qt::LeftButton) << static_cast<int>(Qt::ShiftModifier);
  }
  void dragPans() {
    QFETCH(int, button);
    QFETCH(int, modifier);
    m_chart->showX({400, 500});
    QVERIFY(settle(*m_chart));
    const auto pressed = static_cast<Qt::MouseButton>(button);
    const auto modifiers = static_cast<Qt::KeyboardModifier>(modifier);
    const QPoint from = m_area.center(), to = from - QPoint(m_area.width() / 4, 0);
    const double held = m_chart->xAt(from.x());
    QTest::mousePress(m_chart.get(), pressed, modifiers, from);
    QTest::mouseMove(m_chart.get(), to);
    QTest::mouseRelease(m_chart.get(), pressed, modifiers, to);
    QVERIFY(settle(*m_chart));
    QVERIFY(near(m_chart->xAt(to.x()), held, 0.5)); // what was grabbed is under the mouse
    QVERIFY(near(m_chart->xView().size(), 100, 1e-6));
    QVERIFY(m_chart->followsY());
  }

  void doubleClickFits() {
    m_chart->showX({400, 500});
    m_chart->zoomY(0.5, 5);
    QVERIFY(settle(*m_chart));
    QTest::mouseDClick(m_chart.get(), Qt::LeftButton, Qt::NoModifier, m_area.center());
    QTest::mouseRelease(m_chart.get(), Qt::LeftButton, Qt::NoModifier, m_area.center());
    QVERIFY(settle(*m_chart));
    QVERIFY(m_chart->followsX() && m_chart->followsY());
  }

  void keys_data() {
    QTest::addColumn<int>("key");
    QTest::addColumn<int>("modifier");
    QTest::addColumn<double>("lower");
    QTest::addColumn<double>("upper");
    const int none = static_cast<int>(Qt::NoModifier), control = static_cast<int>(Qt::ControlModifier);
    QTest::newRow("plus") << static_cast<int>(Qt::Key_Plus) << none << 450 - 50 / 1.5 << 450 + 50 / 1.5;
    QTest::newRow("minus") << static_cast<int>(Qt::Key_Minus) << none << 375.0 << 525.0;
    QTest::newRow("left") << static_cast<int>(Qt::Key_Left) << none << 380.0 << 480.0;
    QTest::newRow("right") << static_cast<int>(Qt::Key_Right) << none << 420.0 << 520.0;
    QTest::newRow("control plus") << static_cast<int>(Qt::Key_Plus) << control << 400.0 << 500.0;
    QTest::newRow("up") << static_cast<int>(Qt::Key_Up) << none << 400.0 << 500.0;
  }
  void keys() {
    QFETCH(int, key);
    QFETCH(int, modifier);
    QFETCH(double, lower);
    QFETCH(double, upper);
    m_chart->showX({400, 500});
    QVERIFY(settle(*m_chart));
    const Range y = m_chart->yView();
    QTest::keyClick(m_chart.get(), static_cast<Qt::Key>(key), static_cast<Qt::KeyboardModifier>(modifier));
    QVERIFY2(near(m_chart->xView().lower, lower, 1e-6), qPrintable(QString::number(m_chart->xView().lower)));
    QVERIFY(near(m_chart->xView().upper, upper, 1e-6));
    const bool changesY = key == Qt::Key_Up || modifier == static_cast<int>(Qt::ControlModifier);
    QCOMPARE(m_chart->followsY(), !changesY);
    if (changesY) QVERIFY(m_chart->yView() != y);
    QTest::keyClick(m_chart.get(), Qt::Key_Home);
    QVERIFY(m_chart->followsX() && m_chart->followsY());
  }

  void lSwitchesTheLogarithmicAxis() {
    QSignalSpy changed(m_chart.get(), &LiveChart::logarithmicChanged);
    QTest::keyClick(m_chart.get(), Qt::Key_L);
    QVERIFY(m_chart->isLogarithmic());
    QTest::keyClick(m_chart.get(), Qt::Key_L);
    QVERIFY(!m_chart->isLogarithmic());
    QCOMPARE(changed.count(), 2);
  }

  void takesTheFocus() {
    QCOMPARE(m_chart->focusPolicy(), Qt::StrongFocus);
    QVERIFY(m_chart->accessibleName().contains(QStringLiteral("loss")));
    QVERIFY(!m_chart->accessibleDescription().isEmpty());
  }

  void otherKeysAreLeftToOthers() {
    QKeyEvent event(QEvent::KeyPress, Qt::Key_F5, Qt::NoModifier);
    event.accept();
    QCoreApplication::sendEvent(m_chart.get(), &event);
    QVERIFY(!event.isAccepted());
  }

  void cursorFollowsTheMouse() {
    QSignalSpy moved(m_chart.get(), &LiveChart::cursorMoved), left(m_chart.get(), &LiveChart::cursorLeft);
    QTest::mouseMove(m_chart.get(), m_area.center() - QPoint(50, 5));
    QTest::mouseMove(m_chart.get(), m_area.center());
    QVERIFY(moved.count() >= 1);
    QVERIFY(near(*m_chart->cursor(), m_chart->xAt(m_area.center().x()), 0.01));
    QVERIFY(m_chart->readout().startsWith(QStringLiteral("step 5")));
    QTest::mouseMove(m_chart.get(), QPoint(2, 2));
    QVERIFY(!m_chart->cursor());
    QCOMPARE(left.count(), 1);
  }

  /// A crosshair without a mouse.
  void keysMoveTheCursor() {
    QSignalSpy moved(m_chart.get(), &LiveChart::cursorMoved), left(m_chart.get(), &LiveChart::cursorLeft);
    m_chart->setFocus();
    const auto press = [&](Qt::Key key, Qt::KeyboardModifiers more = {}) {
      QTest::keyClick(m_chart.get(), key, Qt::ShiftModifier | more);
    };
    press(Qt::Key_Left); // begins at the end
    QCOMPARE(m_chart->cursor(), 1000.0);
    press(Qt::Key_Left);
    press(Qt::Key_Left);
    QCOMPARE(m_chart->cursor(), 998.0);
    press(Qt::Key_Left, Qt::ControlModifier);
    QCOMPARE(m_chart->cursor(), 988.0);
    press(Qt::Key_Right);
    QCOMPARE(m_chart->cursor(), 989.0);
    QVERIFY(m_chart->readout().startsWith(QStringLiteral("step 989")));
    press(Qt::Key_Home);
    QCOMPARE(m_chart->cursor(), 1.0);
    press(Qt::Key_Left);
    QCOMPARE(m_chart->cursor(), 1.0);
    press(Qt::Key_End);
    QCOMPARE(m_chart->cursor(), 1000.0);
    QVERIFY(m_chart->followsX());
    QCOMPARE(moved.count(), 8);
    // The edges are those of the view, which goes along with what leaves it.
    m_chart->showX({200, 300});
    press(Qt::Key_End);
    QCOMPARE(m_chart->cursor(), 300.0);
    press(Qt::Key_Right, Qt::ControlModifier);
    QCOMPARE(m_chart->cursor(), 310.0);
    QVERIFY(near(m_chart->xView().upper, 310, 1e-6) && near(m_chart->xView().lower, 210, 1e-6));
    QTest::keyClick(m_chart.get(), Qt::Key_Escape);
    QVERIFY(!m_chart->cursor());
    QCOMPARE(left.count(), 1);
    QVERIFY(m_chart->accessibleDescription().contains(QStringLiteral("crosshair")));
  }

  void emptyChartsStandStill() {
    LiveChart chart(QStringLiteral("loss"));
    chart.addSeries(seriesOf(tableOf(0, {})));
    QVERIFY(showAndSettle(chart));
    turnWheel(chart, chart.plotArea().center(), {0, 120});
    QTest::keyClick(&chart, Qt::Key_Plus);
    QTest::keyClick(&chart, Qt::Key_Left);
    QTest::keyClick(&chart, Qt::Key_Left, Qt::ShiftModifier);
    QVERIFY(!chart.cursor());
    QVERIFY(settle(chart));
    appendValues(*chart.series(0).table, 10, [](std::int64_t) { return 1.0; });
    QVERIFY(settle(chart));
    QVERIFY(chart.followsX());
    QVERIFY(chart.xView().upper >= 10);
  }

 private:
  std::shared_ptr<MetricTable> m_table;
  std::unique_ptr<LiveChart> m_chart;
  QRect m_area;
};

QTEST_MAIN(TestChartInput)
#include "test_chart_input.moc"

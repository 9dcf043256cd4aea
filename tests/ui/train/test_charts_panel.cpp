// The charts of a run: which are there.
#include "scripted_feed.h"

#include "charts/live_chart.h"
#include "train/charts_panel.h"
#include "train/run_session.h"

#include <QTemporaryDir>
#include <QTest>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

class TestChartsPanel : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// It appears with the first figure of a GPU, keeps its place when the driver falls silent, and is not there for runs
  /// of the CPU. No chart lies on another.
  void theGpuIsShownWhereThereIsOne() {
    QTemporaryDir folder;
    auto feed = std::make_unique<ScriptedFeed>();
    ScriptedFeed* tell = feed.get();
    RunSession session(std::move(feed), "goose", folder.path());
    session.open();
    ChartsPanel panel;
    panel.resize(1000, 800);
    panel.setVisible(true);
    panel.show(&session);
    auto* gpu = panel.findChild<LiveChart*>("gpuChart");
    tell->tell({state(RunState::Running, 0, 1000), step(1, 1001)});
    QVERIFY(gpu->isHidden());
    RunEvent told = step(2, 1002);
    std::get<StepMetrics>(told.body).gpu.emplace().utilization = 0.9;
    tell->tell({told});
    QVERIFY(!gpu->isHidden());
    tell->tell({step(3, 1003)});
    QVERIFY(!gpu->isHidden());
    QCoreApplication::processEvents();
    for (const LiveChart* one : panel.charts())
      for (const LiveChart* other : panel.charts())
        if (one != other) QVERIFY(!one->geometry().intersects(other->geometry()));

    RunSession another(std::make_unique<ScriptedFeed>(), "duck", folder.path());
    panel.show(&another);
    QVERIFY(gpu->isHidden());
    panel.show(nullptr);
    tell->tell({step(4, 1004)}); // nobody listens
    QVERIFY(gpu->isHidden());
  }
};

QTEST_MAIN(TestChartsPanel)
#include "test_charts_panel.moc"

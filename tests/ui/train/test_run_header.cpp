#include "style/elided_label.h"
#include "train/run_header.h"
#include "train/run_session.h"
#include "train/train_page.h"
#include "ui/train/scripted_feed.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

class TestRunHeader : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Why a run failed is what its user needs: whole in a narrow window, and never read as markup.
  void theReasonIsWhole() {
    Shown shown;
    shown.header.resize(500, 200);
    auto* word = shown.header.findChild<ElidedLabel*>("runState");
    auto* reason = shown.header.findChild<QLabel*>("runReason");
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3)});
    QCOMPARE(word->text(), QString("Training"));
    QVERIFY(!reason->isVisible());

    constexpr const char* text =
        "10 steps in a row had a loss or gradient norm that is not <b>finite</b>; the last good checkpoint stands: "
        "lower training.learning_rate and resume or branch from it";
    shown.feed->tell({state(RunState::Failed, 1, 1002, text)});
    QCOMPARE(word->text(), QString("Failed"));
    QVERIFY(reason->isVisible());
    QCOMPARE(reason->text(), QString(text));
    QCOMPARE(reason->textFormat(), Qt::PlainText);
    QCoreApplication::processEvents();
    const QRect needed =
        reason->fontMetrics().boundingRect(QRect(0, 0, reason->width(), 10'000), Qt::TextWordWrap, reason->text());
    QVERIFY2(reason->height() >= needed.height() && needed.width() <= reason->width(),
             qPrintable(QString("%1 of %2").arg(reason->height()).arg(needed.height())));
  }

  /// Nobody's click lands on another button because a reason came.
  void theReasonMovesNoButton() {
    Shown shown;
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3)});
    QCoreApplication::processEvents();
    auto* stop = shown.header.findChild<QPushButton*>("stopButton");
    const QRect before = stop->geometry();
    shown.feed->tell({state(RunState::Paused, 1, 1002, QString("no room on the disk, ").repeated(20).toUtf8())});
    QCoreApplication::processEvents();
    QVERIFY(shown.header.findChild<QLabel*>("runReason")->isVisible());
    QCOMPARE(stop->geometry(), before);
  }

  void aLongNameHidesNoState() {
    Shown shown({}, QString("a-long-name-").repeated(30));
    shown.header.resize(500, 200);
    auto* word = shown.header.findChild<ElidedLabel*>("runState");
    for (const RunState each : {RunState::Running, RunState::Saving, RunState::Interrupted}) {
      shown.feed->tell({state(each, 1, 1001)});
      QCoreApplication::processEvents();
      QVERIFY2(word->width() >= word->sizeHint().width(), qPrintable(word->text()));
    }
  }

  void saysThatItAsks() {
    Shown shown;
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3)});
    shown.feed->ask();
    QCOMPARE(shown.word(), QString("Training – asking…"));
    shown.feed->answer();
    QCOMPARE(shown.word(), QString("Training"));
  }

  void saysThatThereIsNoNews() {
    Shown shown;
    double clock = 0;
    shown.session.setClock([&] { return clock; });
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3), step(2, 1002, 3)});
    auto* figures = shown.header.findChild<ElidedLabel*>("runFigures");
    QVERIFY2(figures->text().contains("left"), qPrintable(figures->text()));
    clock = 40;
    QTRY_VERIFY2(figures->text().contains(QString("no news for 40\u00a0s")), qPrintable(figures->text()));
    QVERIFY(!figures->text().contains("left") && !figures->text().contains("tokens/s"));
  }

  void saysWhatTheGpuDoes() {
    Shown shown;
    auto* figures = shown.header.findChild<ElidedLabel*>("runFigures");
    RunEvent first = step(1, 1001, 3), second = step(2, 1002, 3);
    shown.feed->tell({state(RunState::Running, 0, 1000), first});
    QVERIFY2(!figures->text().contains("GPU"), qPrintable(figures->text()));
    GpuMetrics gpu;
    gpu.utilization = 0.974;
    gpu.powerWatts = 511.2;
    std::get<StepMetrics>(second.body).gpu = gpu;
    shown.feed->tell({second});
    QVERIFY2(figures->text().contains("GPU 97%, 511 W"), qPrintable(figures->text()));
    shown.feed->tell({step(3, 1003, 3)}); // its driver has gone
    QVERIFY2(figures->text().contains("tells nothing"), qPrintable(figures->text()));
    shown.feed->tell({state(RunState::Finished, 3, 1004)});
    QVERIFY2(!figures->text().contains("GPU"), qPrintable(figures->text()));
  }

  void saysWhatDrivesAreGiven() {
    Shown shown;
    auto* figures = shown.header.findChild<ElidedLabel*>("runFigures");
    RunEvent first = step(1, 1001, 3), second = step(2, 1002, 3);
    std::get<StepMetrics>(first.body).drives = DriveMetrics{1536.0 * (1ll << 30), 2.5, true};
    shown.feed->tell({state(RunState::Running, 0, 1000), first});
    QVERIFY2(figures->text().contains("written a day") && figures->text().contains("drive life about 2.5 years"),
             qPrintable(figures->text()));
    std::get<StepMetrics>(second.body).drives = DriveMetrics{1e30, 0, false}; // a disk that does not wear
    shown.feed->tell({second});
    QVERIFY2(figures->text().contains("written a day") && !figures->text().contains("life"),
             qPrintable(figures->text()));
    shown.feed->tell({state(RunState::Finished, 3, 1004)});
    QVERIFY2(!figures->text().contains("written a day"), qPrintable(figures->text()));
  }

  /// What the pace was is no promise while it stands still.
  void aPausedRunHasNoPace() {
    Shown shown;
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3), step(2, 1002, 3)});
    auto* figures = shown.header.findChild<ElidedLabel*>("runFigures");
    QVERIFY2(figures->text().contains("left") && figures->text().contains("tokens/s"), qPrintable(figures->text()));
    shown.feed->tell({state(RunState::Paused, 2, 1003)});
    QVERIFY2(!figures->text().contains("left") && !figures->text().contains("tokens/s"), qPrintable(figures->text()));
    QVERIFY(figures->text().contains("step 2"));
  }

  /// A host that was never reached: nothing to steer, and what is done about it is in words.
  void remoteRuns() {
    Shown shown("box");
    const auto button = [&](const char* name) { return shown.header.findChild<QPushButton*>(name); };
    auto* progress = shown.header.findChild<QProgressBar*>("runProgress");
    QCOMPARE(shown.word(), QString("Connecting to box…"));
    QVERIFY(!button("stopButton")->isEnabled() && !button("discardButton")->isEnabled());
    QCOMPARE(progress->maximum(), 0); // at it
    shown.feed->lose();
    QCOMPARE(shown.word(), QString("Connecting to box…"));
    QVERIFY(progress->maximum() > 0); // waits
    QVERIFY(!button("stopButton")->isEnabled() && !button("discardButton")->isEnabled());
    shown.feed->connected();
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3)});
    QCOMPARE(shown.word(), QString("Training"));
    QVERIFY(button("stopButton")->isEnabled() && button("discardButton")->isEnabled());
    shown.feed->lose();
    QCOMPARE(shown.word(), QString("No news from the run"));
  }

  void aFolderThatIsGone() {
    Shown shown;
    shown.feed->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3)});
    QVERIFY(shown.header.findChild<QPushButton*>("folderButton")->isEnabled());
    shown.feed->folder = false;
    shown.feed->end("The folder of the run is gone");
    QCOMPARE(shown.word(), QString("Interrupted"));
    QVERIFY(!shown.header.findChild<QPushButton*>("folderButton")->isEnabled());
    QVERIFY(!shown.header.findChild<QPushButton*>("resumeRunButton")->isVisible());
  }

  /// What came to nothing in one state is no news in the next.
  void answersGoWithTheirState() {
    Shown shown;
    TrainPage page;
    page.show(&shown.session);
    static_cast<QWidget&>(page).show();
    auto* answer = page.findChild<QLabel*>("requestProblem");
    shown.feed->tell({state(RunState::Paused, 1, 1001), step(1, 1001, 3)});
    shown.feed->ask();
    shown.feed->answer("nobody there");
    QVERIFY(answer->isVisible());
    shown.feed->tell({step(2, 1002, 3)});
    QVERIFY(answer->isVisible());
    shown.feed->tell({state(RunState::Running, 2, 1003)});
    QVERIFY(!answer->isVisible());
    page.show(nullptr);
  }

 private:
  struct Shown {
    explicit Shown(const QString& host = {}, const QString& name = "goose")
        : feed(new ScriptedFeed), session(std::unique_ptr<RunFeed>(feed), name, folder.path()) {
      feed->hostName = host;
      session.open();
      header.resize(900, 200);
      header.setVisible(true);
      header.show(&session);
    }
    QString word() const { return header.findChild<ElidedLabel*>("runState")->text(); }

    QTemporaryDir folder;
    ScriptedFeed* feed; ///< the session's
    RunSession session;
    RunHeader header;
  };
};

QTEST_MAIN(TestRunHeader)
#include "test_run_header.moc"

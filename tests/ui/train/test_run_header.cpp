#include "style/elided_label.h"
#include "train/run_header.h"
#include "train/run_session.h"
#include "ui/train/scripted_feed.h"

#include <QLabel>
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
    QTemporaryDir folder;
    auto feed = std::make_unique<ScriptedFeed>();
    ScriptedFeed* tell = feed.get();
    RunSession session(std::move(feed), "goose", folder.path());
    session.open();
    RunHeader header;
    header.resize(500, 200);
    header.setVisible(true);
    header.show(&session);
    auto* word = header.findChild<ElidedLabel*>("runState");
    auto* reason = header.findChild<QLabel*>("runReason");
    tell->tell({state(RunState::Running, 0, 1000), step(1, 1001, 3)});
    QCOMPARE(word->text(), QString("Training"));
    QVERIFY(!reason->isVisible());

    constexpr const char* text =
        "10 steps in a row had a loss or gradient norm that is not <b>finite</b>; the last good checkpoint stands: "
        "lower training.learning_rate and resume or branch from it";
    tell->tell({state(RunState::Failed, 1, 1002, text)});
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
};

QTEST_MAIN(TestRunHeader)
#include "test_run_header.moc"

#include "bridge/background.h"

#include <QSemaphore>
#include <QThread>
#include <QThreadPool>
#include <QtTest>
#include <memory>

using namespace millrace::ui;

class TestBackground : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void resultsComeBackToTheCallersThread() {
    QThread* worker = nullptr;
    int result = 0;
    QThread* told = nullptr;
    inBackground(
        this, [&worker] { return worker = QThread::currentThread(), 42; },
        [&](int value) {
          result = value;
          told = QThread::currentThread();
        });
    QThreadPool::globalInstance()->waitForDone(); // done, and still nothing is told before the events are
    QCOMPARE(result, 0);
    QTRY_COMPARE(result, 42);
    QVERIFY(worker && worker != thread());
    QCOMPARE(told, thread());
  }

  void workWithoutAResult() {
    bool told = false;
    inBackground(
        this, [] {}, [&] { told = true; });
    QTRY_VERIFY(told);
  }

  /// The work is done all the same, and what it gave is let go.
  void nobodyIsToldOnceTheContextIsGone() {
    const auto value = std::make_shared<int>(1);
    QSemaphore go, done;
    bool told = false;
    auto context = std::make_unique<QObject>();
    inBackground(
        context.get(),
        [&, value] {
          go.acquire();
          done.release();
          return value;
        },
        [&](const std::shared_ptr<int>&) { told = true; });
    context.reset();
    go.release();
    QVERIFY(done.tryAcquire(1, 60'000));
    QThreadPool::globalInstance()->waitForDone();
    QCoreApplication::processEvents();
    QVERIFY(!told);
    QTRY_COMPARE(value.use_count(), 1);
  }
};

QTEST_GUILESS_MAIN(TestBackground)
#include "test_background.moc"

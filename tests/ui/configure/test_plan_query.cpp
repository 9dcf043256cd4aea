// The newest question is the one that is answered, and asking never waits.
#include "bridge/plan_query.h"

#include <QSemaphore>
#include <QSignalSpy>
#include <QThread>
#include <QtTest>
#include <mutex>

using namespace millrace;
using namespace millrace::ui;

namespace {

/// A planner that answers when it is allowed to, and keeps account.
struct HeldPlanner {
  QSemaphore quick, advice;       ///< one for each answer that may be given
  std::mutex mutex;               ///< of the lists
  std::vector<std::string> asked; ///< text, with "+" where advice was asked for
  std::vector<QThread*> threads;

  PlanFunction function() {
    return [this](const PlanQuestion& question, bool withAdvice) -> Result<PlanReport> {
      {
        const std::lock_guard lock(mutex);
        asked.push_back(question.text + (withAdvice ? "+" : ""));
        threads.push_back(QThread::currentThread());
      }
      (withAdvice ? advice : quick).acquire();
      if (question.text == "bad") return badInput("no good", "training.steps");
      PlanReport report;
      report.project = question.text;
      return report;
    };
  }
  std::size_t calls() {
    const std::lock_guard lock(mutex);
    return asked.size();
  }
};

struct Answers : QObject {
  explicit Answers(PlanQuery& query) {
    connect(&query, &PlanQuery::answered, this, [this](const PlanReport& report, bool complete) {
      told << QString::fromStdString(report.project) + (complete ? "+" : "");
      threads << QThread::currentThread();
    });
    connect(&query, &PlanQuery::failed, this,
            [this](const Error& error) { told << QString::fromStdString("failed at " + error.key); });
    connect(&query, &PlanQuery::busy, this, [this](bool busy) { told << (busy ? "busy" : "idle"); });
  }
  QStringList told;
  QList<QThread*> threads;
};

} // namespace

class TestPlanQuery : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void firstQuickThenComplete() {
    HeldPlanner planner;
    PlanQuery query(planner.function());
    Answers answers(query);
    query.ask({"a", "a.json", "/"});
    QVERIFY(query.isBusy());
    planner.quick.release();
    QTRY_COMPARE(answers.told, (QStringList{"busy", "a"}));
    QVERIFY(query.isBusy());
    planner.advice.release();
    QTRY_COMPARE(answers.told, (QStringList{"busy", "a", "idle", "a+"}));
    QVERIFY(!query.isBusy());
    for (QThread* thread : answers.threads) QCOMPARE(thread, QThread::currentThread());
    for (QThread* thread : planner.threads) QVERIFY(thread != QThread::currentThread());
  }

  void latestWins() {
    HeldPlanner planner;
    PlanQuery query(planner.function());
    Answers answers(query);
    query.ask({"a", "p.json", "/"});
    QTRY_COMPARE(planner.calls(), std::size_t{1});
    query.ask({"b", "p.json", "/"});
    query.ask({"c", "p.json", "/"});
    planner.quick.release(2);
    QTRY_COMPARE(answers.told, (QStringList{"busy", "c"}));
    planner.advice.release();
    QTRY_COMPARE(answers.told, (QStringList{"busy", "c", "idle", "c+"}));
    QCOMPARE(planner.asked, (std::vector<std::string>{"a", "c", "c+"})); // nobody waited for b
  }

  void adviceDoesNotHoldUpTheNextQuestion() {
    HeldPlanner planner;
    PlanQuery query(planner.function());
    Answers answers(query);
    planner.quick.release(2);
    query.ask({"a", "p.json", "/"});
    QTRY_COMPARE(planner.calls(), std::size_t{2}); // its advice is being thought about
    query.ask({"b", "p.json", "/"});
    QTRY_COMPARE(answers.told, (QStringList{"busy", "a", "b"}));
    planner.advice.release(2);
    QTRY_COMPARE(answers.told, (QStringList{"busy", "a", "b", "idle", "b+"}));
  }

  void failure() {
    HeldPlanner planner;
    PlanQuery query(planner.function());
    Answers answers(query);
    planner.quick.release();
    query.ask({"bad", "p.json", "/"});
    QTRY_COMPARE(answers.told, (QStringList{"busy", "idle", "failed at training.steps"}));
    QCOMPARE(planner.calls(), std::size_t{1});
  }

  void cancelled() {
    HeldPlanner planner;
    PlanQuery query(planner.function());
    Answers answers(query);
    query.ask({"a", "p.json", "/"});
    QTRY_COMPARE(planner.calls(), std::size_t{1});
    query.cancel();
    QCOMPARE(answers.told, (QStringList{"busy", "idle"}));
    query.ask({"b", "p.json", "/"});
    planner.quick.release(2);
    QTRY_COMPARE(answers.told, (QStringList{"busy", "idle", "busy", "b"}));
    planner.advice.release();
    QTRY_COMPARE(answers.told.last(), QString("b+"));
  }

  void goneWhilePlanning() {
    HeldPlanner planner;
    {
      PlanQuery query(planner.function());
      query.ask({"a", "p.json", "/"});
      QTRY_COMPARE(planner.calls(), std::size_t{1});
    }
    planner.quick.release();
    QVERIFY(QThreadPool::globalInstance()->waitForDone());
    QCoreApplication::processEvents();
  }

  void thisMachine() {
    PlanQuery query;
    Answers answers(query);
    query.ask({R"({"format": 1, "model": {"config": {}}, "tokenizer": {"file": "t.json"},
                   "data": {"sources": "a.txt"}, "training": {"steps": 10}})",
               "p.json", "/"});
    QTRY_COMPARE(answers.told.size(), 3);
    QVERIFY2(answers.told.last().startsWith("failed at model.config"), qPrintable(answers.told.last()));
  }
};

QTEST_GUILESS_MAIN(TestPlanQuery)
#include "test_plan_query.moc"

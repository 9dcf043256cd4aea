// What a RunFeed has told, for tests to look at.
#pragma once

#include "app/program.h"
#include "bridge/run_feed.h"

#include <QThread>

namespace millrace::test {

struct FeedRecord {
  explicit FeedRecord(ui::RunFeed& feed) {
    QObject::connect(&feed, &ui::RunFeed::eventsArrived, &feed, [this, &feed](const std::vector<RunEvent>& arrived) {
      sameThread = sameThread && QThread::currentThread() == feed.thread();
      events.insert(events.end(), arrived.begin(), arrived.end());
    });
    QObject::connect(&feed, &ui::RunFeed::linkChanged, &feed, [this, &feed] { links.append(feed.link()); });
    QObject::connect(&feed, &ui::RunFeed::requestFailed, &feed,
                     [this](const QString& message) { problems.append(message); });
  }

  QList<qint64> steps() const {
    QList<qint64> all;
    for (const RunEvent& event : events)
      if (const auto* metrics = std::get_if<StepMetrics>(&event.body)) all.append(metrics->step);
    return all;
  }
  bool saw(RunState state) const {
    return std::any_of(events.begin(), events.end(), [&](const RunEvent& event) {
      const auto* change = std::get_if<StateChanged>(&event.body);
      return change && change->state == state;
    });
  }
  template <class Body>
  int count() const {
    return static_cast<int>(std::count_if(
        events.begin(), events.end(), [](const RunEvent& event) { return std::holds_alternative<Body>(event.body); }));
  }

  std::vector<RunEvent> events;
  QList<ui::FeedLink> links;
  QStringList problems;
  bool sameThread = true;
};

/// 1, 2, ... n
inline QList<qint64> stepsUpTo(qint64 n) {
  QList<qint64> all;
  for (qint64 step = 1; step <= n; ++step) all.append(step);
  return all;
}

} // namespace millrace::test

#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, millrace::test::patienceMs)

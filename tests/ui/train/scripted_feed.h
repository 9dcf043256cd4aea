// A run that tells what a test lets it tell.
#pragma once

#include "bridge/run_feed.h"

namespace millrace::test {

class ScriptedFeed final : public ui::RunFeed {
 public:
  void open() override {
    if (hostName.isEmpty() && answers) setLink(ui::FeedLink::Connected);
  }
  void pause() override { asked << "pause"; }
  void resumeTraining() override { asked << "resume"; }
  void checkpointNow() override { asked << "checkpoint"; }
  void stop() override { asked << "stop"; }
  QString place() const override { return "/runs/goose"; }
  QString host() const override { return hostName; }
  bool isLocal() const override { return hostName.isEmpty(); }
  bool hasFolder() const override { return isLocal() && folder; }

  void tell(const std::vector<RunEvent>& events) { Q_EMIT eventsArrived(events); }
  void end(const QString& reason = {}, bool resumable = true) {
    setResumable(resumable);
    setLink(ui::FeedLink::Ended, reason);
  }
  void lose() { setLink(ui::FeedLink::Reconnecting, "the connection was lost"); }

  void connected() { setLink(ui::FeedLink::Connected); }
  void ask() { beginRequest(); }
  void answer(const QString& problem = {}) { endRequest(problem); }

  QStringList asked;
  QString hostName;    ///< empty: this machine
  bool folder = true;  ///< is there
  bool answers = true; ///< at once
};

inline RunEvent step(std::int64_t number, double time, double loss = 2, std::int64_t total = 100) {
  StepMetrics metrics;
  metrics.step = number;
  metrics.totalSteps = total;
  metrics.time = time;
  metrics.loss = loss;
  metrics.seconds = 1;
  metrics.tokensTotal = number * 64;
  return {time, number, metrics};
}

inline RunEvent state(RunState state, std::int64_t number, double time, const char* reason = "") {
  return {time, number, StateChanged{state, reason}};
}

} // namespace millrace::test

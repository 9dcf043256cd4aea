#include "base/mutex.h"
#include "engine/runs.h"
#include "run/run_follower.h"

#include <algorithm>
#include <chrono>

namespace millrace {

namespace {
constexpr double lookAgainSeconds = 0.5; // nothing tells when a lock is taken
} // namespace

class RunWatch::Implementation {
 public:
  Implementation(FileSystem& files, const Path& run, WatchOptions options, RunFollower follower)
      : m_files(files), m_run(run), m_options(std::move(options)), m_follower(std::move(follower)) {
    const OwnerProbe probe = probeOwner(m_run.owner());
    m_seenLive = probe.live;
    if (probe.record) m_since = probe.record->since;
  }

  Result<std::optional<RunEvent>> next() {
    while (true) {
      auto event = m_follower.next();
      if (!event || *event || stopped()) return event;
      // An attempt that began since is followed to its end, however short it was.
      if (beganAnew()) continue;
      // The follower found no process at work. Was it killed under our eyes, it may well come back.
      if (!m_seenLive || endedWithWord()) return std::nullopt;
      if (!waitForResume()) return std::nullopt;
    }
  }

  void stop() {
    {
      Lock lock(m_mutex);
      m_stopped = true;
    }
    m_wake.notifyAll();
    m_follower.stop();
  }

 private:
  bool stopped() {
    Lock lock(m_mutex);
    return m_stopped;
  }

  /// Another process has taken the run since this was last asked.
  bool beganAnew() {
    const OwnerProbe probe = probeOwner(m_run.owner());
    if (!probe.record || probe.record->since == m_since) return false;
    m_since = probe.record->since;
    return true;
  }

  bool endedWithWord() const {
    const OwnerProbe probe = probeOwner(m_run.owner());
    if (probe.live) return false;
    if (probe.record && probe.record->ended) return true;
    const RunStatus status = runStatus(m_files, m_run);
    return status.outcome == RunOutcome::Finished || status.outcome == RunOutcome::Failed;
  }

  bool waitForResume() {
    if (m_options.onKilled && !probeOwner(m_run.owner()).live) m_options.onKilled(runStatus(m_files, m_run).reason);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(m_options.patienceSeconds);
    while (!beganAnew()) {
      const double left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
      Lock lock(m_mutex);
      if (m_stopped || left <= 0) return false;
      m_wake.waitFor(m_mutex, std::chrono::duration<double>(std::min(left, lookAgainSeconds)));
    }
    return true;
  }

  FileSystem& m_files;
  const RunDirectory m_run;
  const WatchOptions m_options;
  RunFollower m_follower;
  bool m_seenLive = false;
  double m_since = 0; ///< when the attempt that is followed began
  Mutex m_mutex;
  Condition m_wake;
  bool m_stopped MILLRACE_GUARDED_BY(m_mutex) = false;
};

RunWatch::RunWatch(std::unique_ptr<Implementation> implementation) : m_implementation(std::move(implementation)) {}
RunWatch::~RunWatch() = default;

Result<std::unique_ptr<RunWatch>> RunWatch::open(FileSystem& files, const Path& run, WatchOptions options) {
  MILLRACE_TRY(RunFollower follower,
               RunFollower::open(files, RunDirectory(run), std::max<std::int64_t>(options.fromStep, 0) - 1));
  return std::unique_ptr<RunWatch>(
      new RunWatch(std::make_unique<Implementation>(files, run, std::move(options), std::move(follower))));
}

Result<std::optional<RunEvent>> RunWatch::next() {
  return m_implementation->next();
}

void RunWatch::stop() {
  m_implementation->stop();
}

} // namespace millrace

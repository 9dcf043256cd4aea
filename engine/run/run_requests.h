// What a run has been asked to do, from any thread; the run's thread looks between blocks and steps, or waits here
// while it is paused.
#pragma once

#include "base/mutex.h"

#include <chrono>

namespace millrace {

class RunRequests {
 public:
  void pause();
  void resume();
  void checkpoint();
  /// The first call asks to stop and save, a further one to give the save up.
  void stop();

  bool stopping() const;
  bool abandoning() const;
  bool paused() const;
  /// True once for each time that a checkpoint was asked for.
  bool takeCheckpoint();

  /// Blocks until the run is not paused any more, or is to stop or to save.
  void waitWhilePaused();
  /// Blocks until the run is to stop (true), or the time is over.
  bool waitForStop(std::chrono::milliseconds limit);

 private:
  mutable Mutex m_mutex;
  Condition m_changed;
  bool m_paused MILLRACE_GUARDED_BY(m_mutex) = false;
  bool m_checkpoint MILLRACE_GUARDED_BY(m_mutex) = false;
  int m_stops MILLRACE_GUARDED_BY(m_mutex) = 0;
};

} // namespace millrace

// SIGINT and SIGTERM as calls on a thread of their own, while this object lives (afterwards they stay blocked, so that
// a late one does not keep the program from saying how it ended). SIGHUP is ignored from then on: a run outlives its
// terminal. Make it before any other thread is started: threads inherit what is blocked.
#pragma once

#include <functional>
#include <thread>

namespace millrace::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Calls onSignal on the object's thread for every signal, those included that came since construction. Once. It ends
  /// with the destructor, which waits for a call in progress.
  void deliver(std::function<void()> onSignal);

 private:
  int m_signals = -1; ///< signalfd
  int m_end = -1;     ///< eventfd
  std::thread m_thread;
};

} // namespace millrace::cli

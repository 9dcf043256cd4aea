// SIGINT, SIGTERM and SIGHUP as calls on the GUI thread. Make it before any thread is started.
#pragma once

#include <QSocketNotifier>
#include <functional>
#include <memory>

namespace millrace::workbench {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// From now on, those included that came before. Once.
  void deliver(QObject* context, std::function<void()> onSignal);

 private:
  int m_descriptor = -1; ///< signalfd
  std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace millrace::workbench

#include "stop_signals.h"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace millrace::workbench {

StopSignals::StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return;
  m_descriptor = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

StopSignals::~StopSignals() {
  m_notifier.reset();
  if (m_descriptor >= 0) ::close(m_descriptor);
}

void StopSignals::deliver(QObject* context, std::function<void()> onSignal) {
  if (m_descriptor < 0) return;
  m_notifier = std::make_unique<QSocketNotifier>(m_descriptor, QSocketNotifier::Read);
  QObject::connect(m_notifier.get(), &QSocketNotifier::activated, context,
                   [descriptor = m_descriptor, onSignal = std::move(onSignal)] {
                     signalfd_siginfo info;
                     while (::read(descriptor, &info, sizeof info) == sizeof info) onSignal();
                   });
}

} // namespace millrace::workbench

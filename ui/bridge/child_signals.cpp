#include "bridge/child_signals.h"

#include <csignal>

namespace millrace::ui {

void withDefaultSignals(QProcess& process) {
  process.setChildProcessModifier([] {
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  });
}

} // namespace millrace::ui

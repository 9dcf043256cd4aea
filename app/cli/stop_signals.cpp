#include "stop_signals.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace millrace::cli {

namespace {
/// What stops a whole group of processes, and whoever passes signals on, may send one more than once: signals so close
/// together are one.
constexpr std::chrono::seconds oneSignal{1};
} // namespace

StopSignals::StopSignals() {
  std::signal(SIGHUP, SIG_IGN);
  sigset_t stopping;
  sigemptyset(&stopping);
  sigaddset(&stopping, SIGINT);
  sigaddset(&stopping, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stopping, nullptr);
  m_signals = ::signalfd(-1, &stopping, SFD_CLOEXEC);
  m_end = ::eventfd(0, EFD_CLOEXEC);
  if (m_signals < 0 || m_end < 0) throw std::system_error(errno, std::generic_category(), "cannot listen for signals");
}

StopSignals::~StopSignals() {
  if (m_thread.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(m_end, &one, sizeof one);
    m_thread.join();
  }
  ::close(m_signals);
  ::close(m_end);
}

void StopSignals::deliver(std::function<void()> onSignal) {
  m_thread = std::thread([this, onSignal = std::move(onSignal)] {
    using Clock = std::chrono::steady_clock;
    auto last = Clock::now() - 2 * oneSignal;
    while (true) {
      pollfd polled[] = {{m_signals, POLLIN, 0}, {m_end, POLLIN, 0}};
      if (::poll(polled, 2, -1) < 0 && errno != EINTR) return;
      if (polled[1].revents) return;
      if (!polled[0].revents) continue;
      signalfd_siginfo signal = {};
      if (::read(m_signals, &signal, sizeof signal) != sizeof signal || Clock::now() - last < oneSignal) continue;
      last = Clock::now();
      onSignal();
    }
  });
}

} // namespace millrace::cli

#include "run/sleep_inhibitor.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace millrace {

SleepInhibitor SleepInhibitor::start(const std::string& what) {
  SleepInhibitor inhibitor;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    inhibitor.m_reason = fmt::format("no pipe: {}", std::strerror(errno));
    return inhibitor;
  }
  const Descriptor read(ends[0]);
  Descriptor write(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // Signals of the terminal are for the program that trains; those that it blocks are the child's again.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string why = "--why=training " + what;
  const char* const words[] = {
      "systemd-inhibit", "--what=sleep:idle", "--who=Millrace", why.c_str(), "--mode=block", "cat", nullptr};
  pid_t child = -1;
  // posix_spawnp takes its words as not constant and does not change them.
  const int code = ::posix_spawnp(&child, words[0], &actions, &attributes, const_cast<char* const*>(words), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    inhibitor.m_reason = fmt::format("systemd-inhibit cannot be started: {}", std::strerror(code));
    return inhibitor;
  }
  inhibitor.m_child = child;
  inhibitor.m_pipe = std::move(write);
  return inhibitor;
}

SleepInhibitor::SleepInhibitor(SleepInhibitor&& other) noexcept
    : m_pipe(std::move(other.m_pipe)), m_child(std::exchange(other.m_child, -1)), m_reason(std::move(other.m_reason)) {}

SleepInhibitor::~SleepInhibitor() {
  m_pipe.reset();
  if (m_child <= 0) return;
  // It ends by itself when the pipe closes; one that waits for logind is not waited for.
  ::kill(m_child, SIGTERM);
  while (::waitpid(m_child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

} // namespace millrace

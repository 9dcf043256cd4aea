#include "base/process_identity.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cmath>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

namespace millrace {

namespace {

/// A small file of /proc, or nothing.
std::string readKernelFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  char buffer[1024];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  ::close(descriptor);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

std::optional<std::uint64_t> startTicksOf(std::int64_t pid) {
  const std::string stat = readKernelFile(fmt::format("/proc/{}/stat", pid));
  // The second field is the program's name in parentheses and may hold anything; the start time is the 22nd.
  std::size_t position = stat.rfind(')');
  if (position == std::string::npos) return std::nullopt;
  for (int field = 2; field < 22; ++field) {
    position = stat.find(' ', position + 1);
    if (position == std::string::npos) return std::nullopt;
  }
  std::uint64_t ticks = 0;
  const auto [end, code] = std::from_chars(stat.data() + position + 1, stat.data() + stat.size(), ticks);
  if (code != std::errc()) return std::nullopt;
  return ticks;
}

} // namespace

ProcessIdentity currentProcess() {
  ProcessIdentity identity;
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, sizeof host - 1) == 0) identity.host = host;
  identity.bootId = readKernelFile("/proc/sys/kernel/random/boot_id");
  while (!identity.bootId.empty() && identity.bootId.back() == '\n') identity.bootId.pop_back();
  char link[128] = {};
  if (::readlink("/proc/self/ns/pid", link, sizeof link - 1) > 0) identity.pidNamespace = link;
  identity.pid = ::getpid();
  identity.startTicks = startTicksOf(identity.pid).value_or(0);
  return identity;
}

Liveness livenessOf(const ProcessIdentity& process) {
  const ProcessIdentity self = currentProcess();
  if (self.bootId.empty() || process.bootId.empty()) return Liveness::Unknown;
  if (process.bootId != self.bootId) {
    // This machine has booted again since, or another machine; many of those are called localhost.
    const bool sameMachine = process.host == self.host && !self.host.empty() && !self.host.starts_with("localhost");
    return sameMachine ? Liveness::Dead : Liveness::Unknown;
  }
  if (process.pidNamespace != self.pidNamespace || process.pid <= 0) return Liveness::Unknown;
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return Liveness::Dead;
  const auto ticks = startTicksOf(process.pid);
  return ticks && *ticks == process.startTicks ? Liveness::Alive : Liveness::Dead;
}

double unixTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string formatTime(double unixSeconds) {
  if (!(std::fabs(unixSeconds) < 1e11)) return "an unknown time";
  const auto seconds = static_cast<std::time_t>(unixSeconds);
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

} // namespace millrace

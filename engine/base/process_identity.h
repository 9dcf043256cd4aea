// Which process this is, precisely enough that a record of it is never taken for another: process ids come round again,
// and a power loss leaves records behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace {

struct ProcessIdentity {
  std::string host;
  std::string bootId;       ///< of the running kernel; empty when the system does not tell
  std::string pidNamespace; ///< "pid:[4026531836]": ids mean nothing in another one
  std::int64_t pid = 0;
  std::uint64_t startTicks = 0; ///< since boot, from /proc/<pid>/stat

  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity currentProcess();

enum class Liveness { Dead, Alive, Unknown };

/// Alive when exactly that process still runs; Unknown when it lives (or lived) on another machine or in another
/// process namespace, where this process cannot see it.
Liveness livenessOf(const ProcessIdentity& process);

/// Seconds since 1970.
double unixTime();
/// "2026-03-01 14:05:09 UTC".
std::string formatTime(double unixSeconds);

} // namespace millrace

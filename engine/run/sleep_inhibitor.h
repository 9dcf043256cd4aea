// SleepInhibitor: keeps the machine from going to sleep while it lives, through systemd's logind where that is there.
// The lock is held by a child (systemd-inhibit around cat) that ends when the pipe to it closes, so that it goes with
// this process however that ends.
#pragma once

#include "run/descriptor.h"

#include <string>
#include <sys/types.h>

namespace millrace {

class SleepInhibitor {
 public:
  /// what: who trains, for those who ask why the machine stays awake. Never fails: reason() says why it does not hold.
  static SleepInhibitor start(const std::string& what);
  ~SleepInhibitor();
  SleepInhibitor(SleepInhibitor&& other) noexcept;
  SleepInhibitor& operator=(SleepInhibitor&&) = delete;

  /// The child was started. Whether logind agreed is its own affair.
  bool active() const { return m_child > 0; }
  const std::string& reason() const { return m_reason; }

 private:
  SleepInhibitor() = default;

  Descriptor m_pipe;
  pid_t m_child = -1;
  std::string m_reason;
};

} // namespace millrace

// Log: levelled lines with a time, to a file and to whoever listens. Passed by reference; any thread may write.
#pragma once

#include <fmt/format.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

enum class LogLevel { Debug, Info, Warning, Error };

std::string_view toString(LogLevel level);

class Log {
 public:
  using Listener = std::function<void(LogLevel, std::string_view message)>;

  /// Writes nowhere until a file or a listener is added.
  Log();
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Appends to the file from now on; false (and one warning to the listeners) when it cannot be opened.
  bool addFile(const std::string& path);
  /// Called on the thread that logs; must be thread-safe and must not log.
  void addListener(Listener listener);

  void write(LogLevel level, std::string_view message);

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::Warning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::Error, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Sinks;
  std::unique_ptr<Sinks> m_sinks;
};

} // namespace millrace

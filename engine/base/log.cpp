#include "base/log.h"

#include "base/mutex.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <vector>

namespace millrace {

std::string_view toString(LogLevel level) {
  switch (level) {
  case LogLevel::Debug:
    return "debug";
  case LogLevel::Info:
    return "info";
  case LogLevel::Warning:
    return "warning";
  case LogLevel::Error:
    return "error";
  }
  return "unknown";
}

struct Log::Sinks {
  Mutex mutex;
  std::vector<std::shared_ptr<spdlog::logger>> files MILLRACE_GUARDED_BY(mutex);
  std::vector<Listener> listeners MILLRACE_GUARDED_BY(mutex);
};

Log::Log() : m_sinks(std::make_unique<Sinks>()) {}
Log::~Log() = default;

bool Log::addFile(const std::string& path) {
  try {
    auto logger =
        std::make_shared<spdlog::logger>("millrace", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    logger->set_level(spdlog::level::debug);
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler([](const std::string&) {}); // a full disk must not stop a run for its log
    Lock lock(m_sinks->mutex);
    m_sinks->files.push_back(std::move(logger));
    return true;
  } catch (const spdlog::spdlog_ex& problem) {
    warning("cannot write the log to {}: {}", path, problem.what());
    return false;
  }
}

void Log::addListener(Listener listener) {
  Lock lock(m_sinks->mutex);
  m_sinks->listeners.push_back(std::move(listener));
}

void Log::write(LogLevel level, std::string_view message) {
  const auto spdlogLevel = [&] {
    switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
    }
    return spdlog::level::info;
  }();
  Lock lock(m_sinks->mutex);
  for (const auto& file : m_sinks->files) file->log(spdlogLevel, spdlog::string_view_t(message.data(), message.size()));
  for (const Listener& listener : m_sinks->listeners) listener(level, message);
}

} // namespace millrace

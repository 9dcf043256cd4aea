#include "run/run_reporter.h"

namespace millrace {

Status RunReporter::report(RunEvent event) {
  Status written = m_journal.append(event);
  if (m_server) m_server->publish(toJson(event));
  m_queue.push(std::move(event));
  return written;
}

} // namespace millrace

#include "runs/overlaid_run.h"

#include "bridge/text.h"

namespace millrace::ui {

OverlaidRun::OverlaidRun(const QString& path, const QString& name, const QString& cacheFolder)
    : m_path(path), m_name(name), m_tables(cacheFolder), m_feed(toPath(path)) {
  connect(&m_feed, &RunFeed::eventsArrived, this, &OverlaidRun::take);
  m_feed.open();
}

void OverlaidRun::take(const std::vector<RunEvent>& events) {
  for (const RunEvent& event : events) {
    if (const auto* metrics = std::get_if<StepMetrics>(&event.body))
      m_tables.add(*metrics);
    else if (const auto* evaluation = std::get_if<Evaluation>(&event.body))
      m_tables.add(*evaluation, event.step, event.time);
  }
  m_tables.flush();
}

} // namespace millrace::ui

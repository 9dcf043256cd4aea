#include "bridge/run_feed.h"

namespace millrace::ui {

void RunFeed::setLink(FeedLink link, const QString& reason) {
  if (link == m_link && reason == m_linkReason) return;
  m_link = link;
  m_linkReason = reason;
  Q_EMIT linkChanged();
}

void RunFeed::beginRequest() {
  ++m_requests;
  Q_EMIT askingChanged();
}

void RunFeed::endRequest(const QString& problem) {
  --m_requests;
  Q_EMIT askingChanged();
  if (!problem.isEmpty()) Q_EMIT requestFailed(problem);
}

} // namespace millrace::ui

#include "bridge/run_feed.h"

namespace millrace::ui {

void RunFeed::setLink(FeedLink link, const QString& reason) {
  if (link == m_link && reason == m_linkReason) return;
  m_link = link;
  m_linkReason = reason;
  Q_EMIT linkChanged();
}

} // namespace millrace::ui

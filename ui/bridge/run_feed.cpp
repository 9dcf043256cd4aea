#include "bridge/run_feed.h"

#include "engine/runs.h"

namespace millrace::ui {

void RunFeed::setLink(FeedLink link, const QString& reason) {
  if (link == m_link && reason == m_linkReason) return;
  m_link = link;
  m_linkReason = reason;
  Q_EMIT linkChanged();
}

bool RunFeed::looksResumable(FileSystem& files, const std::filesystem::path& directory) {
  const auto info = runInfo(files, directory);
  const bool ended = info && (info->outcome == RunOutcome::Interrupted || info->outcome == RunOutcome::Failed);
  return ended && (info->checkpoint || info->last); // its records may be lost
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

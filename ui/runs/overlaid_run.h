// OverlaidRun: the numbers of one run among others in a chart: read from its directory, and followed while it is at
// work. GUI thread.
#pragma once

#include "bridge/followed_run.h"
#include "models/run_tables.h"

namespace millrace::ui {

class OverlaidRun final : public QObject {
  Q_OBJECT

 public:
  /// name: as legends call it. cacheFolder: of the charts' points. Begins to read.
  OverlaidRun(const QString& path, const QString& name, const QString& cacheFolder);

  const QString& path() const { return m_path; }
  const QString& name() const { return m_name; }
  const RunTables& tables() const { return m_tables; }

 private:
  void take(const std::vector<RunEvent>& events);

  const QString m_path, m_name;
  RunTables m_tables;
  FollowedRun m_feed;
};

} // namespace millrace::ui

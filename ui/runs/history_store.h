// HistoryStore: the runs that were ever seen, in an SQLite file, so that they are listed at once and those that are
// gone still are. Nothing in it is the only copy of what can be read from run directories, people's notes included, as
// long as these are there. Opened, used and closed on one thread; several processes may have it open.
#pragma once

#include "runs/run_entry.h"

#include <QSqlDatabase>
#include <vector>

namespace millrace::ui {

class HistoryStore {
 public:
  /// Makes folder and file where they are missing. A damaged file is moved aside and a new one begun; see notice().
  /// Failed where it cannot be opened, and where a newer program made it.
  static Result<HistoryStore> open(const QString& file);
  ~HistoryStore();
  HistoryStore(HistoryStore&& other) noexcept;
  HistoryStore& operator=(HistoryStore&&) = delete;

  /// Empty, or what became of a damaged file.
  const QString& notice() const { return m_notice; }

  Result<std::vector<RunEntry>> all();
  /// Takes the place of what is known of each; all of them or none.
  Status save(const std::vector<RunEntry>& entries);
  Status remove(const QString& path);

 private:
  explicit HistoryStore(const QString& file);
  Status begin();
  bool isDamaged();
  QSqlDatabase database() const { return QSqlDatabase::database(m_connection, false); }

  QString m_connection; ///< its name; empty: moved from
  QString m_file;
  QString m_notice;
};

} // namespace millrace::ui

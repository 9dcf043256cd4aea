// RunHistory: every run that this user has made or looked at on this machine. Looks at the folder where runs go, at the
// folders of runs that were opened before, and keeps what it finds in a HistoryStore; tags and notes also lie beside
// their runs (notes.json), and which folders to look at and the baseline are settings, so that a lost or damaged store
// loses nothing that is still there. GUI thread; files and the store are read and written on the pool's.
#pragma once

#include "bridge/ordered_work.h"
#include "runs/run_entry.h"

#include <QObject>
#include <functional>
#include <vector>

class QSettings;

namespace millrace::ui {

/// Where the store is: millrace/history.db in XDG's folder of data.
QString historyFile();

class RunHistory final : public QObject {
  Q_OBJECT

 public:
  /// settings: must outlive it.
  explicit RunHistory(QSettings& settings, QObject* parent = nullptr);

  /// In no order. Empty before the first refresh().
  const std::vector<RunEntry>& runs() const { return m_runs; }
  const RunEntry* find(const QString& path) const;
  /// Something is known: the list is complete as far as the store tells.
  bool isLoaded() const { return m_loaded; }
  bool isLooking() const { return m_busy; }
  /// What a person should know of the store; empty: nothing.
  const QString& notice() const { return m_problem.isEmpty() ? m_notice : m_problem; }

  /// Looks again, in the background. Asked while it looks: once more after that.
  void refresh();
  /// The folder of a local run that was opened or begun: runs beside it are found from now on.
  void remember(const QString& run);

  QString baseline() const;
  /// Empty: none.
  void setBaseline(const QString& run);

  /// Beside the run and in the store; notesFailed() where it cannot be written beside it.
  void setNotes(const QString& run, const QStringList& tags, const QString& notes);
  /// Takes a run off the list that is no longer present.
  void forget(const QString& run);
  /// Of one that has ended; then(what came of it, or why not).
  void deleteCheckpoints(const QString& run, KeptCheckpoints keep,
                         std::function<void(const Result<DeletedCheckpoints>&)> then);

 Q_SIGNALS:
  void changed(); ///< runs(), notice(), isLoaded(), isLooking()
  void baselineChanged();
  void notesFailed(const QString& run, const QString& message);

 private:
  struct Look;

  void look();
  void take(Look& look);
  void replace(const RunEntry& entry);
  QStringList folders() const;

  QSettings& m_settings;
  const QString m_file;
  std::vector<RunEntry> m_runs;
  QString m_problem; ///< of the store, now
  QString m_notice;  ///< that a damaged one was made anew
  bool m_loaded = false;
  bool m_busy = false;
  bool m_again = false;
  quint64 m_edits = 0;   ///< changes made here, which a look that began before does not know
  OrderedWork m_inOrder; ///< the last word stays, and a look sees what was written before it
};

} // namespace millrace::ui

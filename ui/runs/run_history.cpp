#include "runs/run_history.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "runs/history_store.h"
#include "runs/run_scan.h"

#include <QFileInfo>
#include <QHash>
#include <QSettings>
#include <QStandardPaths>
#include <algorithm>
#include <utility>

namespace millrace::ui {

namespace {

const QString foldersKey = QStringLiteral("runs/folders");
const QString baselineKey = QStringLiteral("runs/baseline");
constexpr qsizetype mostFolders = 64;

/// What went wrong with the store is no loss: the runs themselves are still there.
QString problemOf(const Error& error) {
  return RunHistory::tr("The history of runs cannot be kept: %1. Runs are listed as they are found.")
      .arg(toQt(error.message));
}

template <class Work>
QString withStore(const QString& file, Work work) {
  auto store = HistoryStore::open(file);
  const Status done = store ? work(*store) : Status(tl::unexpected<Error>(store.error()));
  return done ? QString() : problemOf(done.error());
}

} // namespace

QString historyFile() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/millrace/history.db");
}

/// What one look has to go by, and what it finds.
struct RunHistory::Look {
  QString file;
  QStringList folders;
  std::vector<RunEntry> runs; ///< as they are known, then as they are
  bool storeOnly = false;     ///< the first: what is in the store is shown at once
  quint64 edits = 0;
  QString problem = {}; ///< of the store
  QString notice = {};

  /// Any thread but the GUI's.
  void work() {
    auto store = HistoryStore::open(file);
    QHash<QString, RunEntry> stored;
    Status kept;
    if (!store) kept = tl::unexpected<Error>(store.error());
    if (store) {
      notice = store->notice();
      const auto all = store->all();
      if (!all) kept = tl::unexpected<Error>(all.error());
      if (all)
        for (const RunEntry& run : *all) stored.insert(run.path, run);
    }
    QHash<QString, RunEntry> known = stored;
    for (const RunEntry& run : runs) known.insert(run.path, run);
    runs.assign(known.cbegin(), known.cend());
    if (!storeOnly) runs = scanRuns(folders, runs);
    std::vector<RunEntry> fresh;
    for (const RunEntry& run : runs)
      if (const auto found = stored.constFind(run.path); found == stored.constEnd() || *found != run)
        fresh.push_back(run);
    if (store && kept) kept = store->save(fresh);
    if (!kept) problem = problemOf(kept.error());
  }
};

RunHistory::RunHistory(QSettings& settings, QObject* parent)
    : QObject(parent), m_settings(settings), m_file(historyFile()) {}

const RunEntry* RunHistory::find(const QString& path) const {
  const auto found = std::find_if(m_runs.begin(), m_runs.end(), [&](const RunEntry& run) { return run.path == path; });
  return found == m_runs.end() ? nullptr : &*found;
}

QStringList RunHistory::folders() const {
  QStringList all = m_settings.value(foldersKey).toStringList();
  if (const auto usual = runsFolder()) all.prepend(QFileInfo(toQt(*usual)).absoluteFilePath());
  all.removeDuplicates();
  return all;
}

void RunHistory::remember(const QString& run) {
  if (run.isEmpty() || run.startsWith(QLatin1String("ssh://"))) return;
  QStringList all = m_settings.value(foldersKey).toStringList();
  const QString folder = QFileInfo(QFileInfo(run).absoluteFilePath()).path();
  all.removeAll(folder);
  all.prepend(folder);
  m_settings.setValue(foldersKey, QStringList(all.mid(0, mostFolders)));
}

void RunHistory::refresh() {
  m_again = m_busy;
  if (!m_busy) look();
}

void RunHistory::look() {
  m_busy = true;
  auto look = std::make_shared<Look>(Look{m_file, folders(), m_runs, !m_loaded, m_edits});
  const auto work = [look] {
    look->work();
    return look;
  };
  m_inOrder.add(this, work, [this](const std::shared_ptr<Look>& found) { take(*found); });
}

void RunHistory::take(Look& look) {
  m_busy = false;
  const bool outdated = look.edits != m_edits; // what was edited meanwhile is looked at anew
  if (!outdated) m_runs = std::move(look.runs);
  m_problem = look.problem;
  if (!look.notice.isEmpty()) m_notice = look.notice;
  const bool more = look.storeOnly || outdated || std::exchange(m_again, false);
  m_loaded = true;
  if (more) this->look();
  Q_EMIT changed();
}

void RunHistory::replace(const RunEntry& entry) {
  ++m_edits;
  const auto found =
      std::find_if(m_runs.begin(), m_runs.end(), [&](const RunEntry& run) { return run.path == entry.path; });
  if (found == m_runs.end())
    m_runs.push_back(entry);
  else
    *found = entry;
}

QString RunHistory::baseline() const {
  return m_settings.value(baselineKey).toString();
}

void RunHistory::setBaseline(const QString& run) {
  if (run == baseline()) return;
  m_settings.setValue(baselineKey, run);
  Q_EMIT baselineChanged();
}

void RunHistory::setNotes(const QString& path, const QStringList& tags, const QString& notes) {
  const RunEntry* known = find(path);
  if (!known || (known->tags == tags && known->notes == notes)) return;
  RunEntry entry = *known;
  entry.tags = tags;
  entry.notes = notes;
  replace(entry);
  Q_EMIT changed();
  const auto work = [file = m_file, entry]() -> QString {
    RunNotes beside;
    for (const QString& tag : entry.tags) beside.tags.push_back(tag.toStdString());
    beside.text = entry.notes.toStdString();
    LocalFileSystem files;
    const Status written = entry.present ? writeRunNotes(files, toPath(entry.path), beside) : Status();
    const QString stored = withStore(file, [&](HistoryStore& store) { return store.save({entry}); });
    return written ? stored : toQt(written.error().message);
  };
  m_inOrder.add(this, work, [this, path](const QString& problem) {
    if (!problem.isEmpty()) Q_EMIT notesFailed(path, problem);
  });
}

void RunHistory::forget(const QString& path) {
  const RunEntry* known = find(path);
  if (!known || known->present) return;
  const auto erase = [this, path] {
    ++m_edits; // a look that is under way may have it from the store
    std::erase_if(m_runs, [&](const RunEntry& run) { return run.path == path; });
    Q_EMIT changed();
  };
  erase();
  m_inOrder.add(
      this, [file = m_file, path] { return withStore(file, [&](HistoryStore& store) { return store.remove(path); }); },
      [this, erase](const QString& problem) {
        m_problem = problem;
        erase();
      });
}

void RunHistory::deleteCheckpoints(const QString& path, KeptCheckpoints keep,
                                   std::function<void(const Result<DeletedCheckpoints>&)> then) {
  const auto work = [path, keep] {
    LocalFileSystem files;
    return std::make_shared<Result<DeletedCheckpoints>>(millrace::deleteCheckpoints(files, toPath(path), keep));
  };
  inBackground(this, work, [this, then = std::move(then)](const std::shared_ptr<Result<DeletedCheckpoints>>& result) {
    refresh();
    then(*result);
  });
}

} // namespace millrace::ui

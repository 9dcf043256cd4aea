#include "runs/run_scan.h"

#include "bridge/text.h"

#include <QDir>
#include <QFileInfo>
#include <QHash>

namespace millrace::ui {

namespace {

bool holdsRun(const QString& path) {
  return QFileInfo::exists(path + QStringLiteral("/run.json"));
}

QString stampOf(const QString& path) {
  QString stamp;
  for (const char* name :
       {"run.json", "metrics.jsonl", "events.jsonl", "owner", "checkpoints", "checkpoints/best.json", "notes.json"}) {
    const QFileInfo file(path + u'/' + QLatin1String(name));
    stamp += file.exists() ? QStringLiteral("%1:%2 ").arg(file.size()).arg(file.lastModified().toMSecsSinceEpoch())
                           : QStringLiteral("- ");
  }
  return stamp;
}

std::optional<double> known(double value) {
  return value > 0 ? std::optional<double>(value) : std::nullopt;
}

} // namespace

RunEntry lookAtRun(const QString& path, const RunEntry& before) {
  RunEntry entry = before;
  entry.path = path;
  entry.name = QFileInfo(path).fileName();
  entry.present = holdsRun(path);
  if (!entry.present) return entry;
  entry.stamp = stampOf(path); // before it is read: what changes meanwhile is seen the next time
  LocalFileSystem files;
  const auto details = runDetails(files, toPath(path));
  if (!details) return entry;
  const RunInfo& info = details->info;
  entry.project = toQt(details->project);
  entry.model = toQt(details->model);
  entry.outcome = info.outcome;
  entry.reason = toQt(info.reason);
  entry.owner = toQt(info.owner);
  const StepMetrics last = info.last.value_or(StepMetrics{});
  entry.step = last.step;
  entry.totalSteps = last.totalSteps;
  entry.tokens = last.tokensTotal;
  entry.loss = info.last ? std::optional(last.loss) : std::nullopt;
  entry.tokensPerSecond = known(last.tokensPerSecond);
  entry.validation.reset();
  entry.validationStep = 0;
  if (const auto& best = details->bestValidation) {
    entry.validation = best->loss;
    entry.validationStep = best->step;
  }
  entry.began = details->began;
  entry.changed = info.changed;
  entry.checkpoints = static_cast<int>(details->checkpoints.size());
  entry.checkpointBytes = 0;
  for (const CheckpointSize& each : details->checkpoints) entry.checkpointBytes += each.bytes;
  // What lies beside the run holds; where nothing does, or it cannot be read, what is known stays.
  if (QFileInfo::exists(path + QStringLiteral("/notes.json")))
    if (const auto notes = readRunNotes(files, toPath(path))) {
      entry.tags.clear();
      for (const std::string& tag : notes->tags) entry.tags << toQt(tag);
      entry.notes = toQt(notes->text);
    }
  return entry;
}

std::vector<RunEntry> scanRuns(const QStringList& folders, const std::vector<RunEntry>& knownRuns) {
  QHash<QString, RunEntry> all;
  for (const RunEntry& run : knownRuns) all.insert(run.path, run);
  for (const QString& folder : folders)
    for (const QFileInfo& each : QDir(folder).entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden)) {
      const QString path = each.absoluteFilePath();
      if (!all.contains(path) && holdsRun(path)) all.insert(path, RunEntry{.path = path});
    }
  std::vector<RunEntry> entries;
  for (const RunEntry& run : std::as_const(all)) {
    // A process may have died without a trace in the files.
    const bool same =
        !run.stamp.isEmpty() && run.outcome != RunOutcome::Live && holdsRun(run.path) && run.stamp == stampOf(run.path);
    if (same) {
      entries.push_back(run);
      entries.back().present = true;
    } else {
      entries.push_back(lookAtRun(run.path, run));
    }
  }
  return entries;
}

} // namespace millrace::ui

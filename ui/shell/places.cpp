#include "shell/places.h"

#include "bridge/remote_place.h"
#include "bridge/text.h"
#include "configure/project_document.h"
#include "engine/runs.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>

namespace millrace::ui {

namespace {

/// Runs older than this are history, not something that was broken off.
constexpr double interruptedShownSeconds = 60.0 * 24 * 3600;
constexpr std::size_t mostInterrupted = 5;

/// Without what breaks lines or turns their direction, which would make one entry of a list look like others.
QString oneLine(QString text) {
  text.removeIf([](QChar c) {
    const char16_t code = c.unicode();
    return c.category() == QChar::Other_Control || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  });
  return text.simplified();
}

QString nameOfProject(const QString& path) {
  LocalFileSystem files;
  const auto text = readTextFile(files, toPath(path), largestProject);
  const auto json = text ? parseJson(*text, "") : Result<Json>(failure(ErrorKind::BadInput, ""));
  if (json && json->is_object())
    if (const auto name = json->find("name"); name != json->end() && name->is_string())
      return oneLine(toQt(name->get<std::string>()));
  return QFileInfo(path).completeBaseName();
}

} // namespace

PlaceKind kindOf(const QString& path) {
  if (!QFileInfo(path).isDir()) return PlaceKind::File;
  const QDir folder(path);
  if (folder.exists(QStringLiteral("run.json"))) return PlaceKind::Run;
  return folder.exists(QStringLiteral("config.json")) ? PlaceKind::Model : PlaceKind::Other;
}

std::vector<InterruptedRun> interruptedRuns() {
  std::vector<InterruptedRun> found;
  LocalFileSystem files;
  const auto folder = runsFolder();
  if (!folder) return found;
  const auto runs = runsIn(files, *folder);
  if (!runs) return found;
  const double now = static_cast<double>(QDateTime::currentSecsSinceEpoch());
  for (const RunInfo& run : *runs) {
    if (run.outcome != RunOutcome::Interrupted || now - run.changed > interruptedShownSeconds) continue;
    const QString directory = toQt(run.path);
    found.push_back({runName(directory), directory, toQt(run.reason), run.last ? run.last->step : 0, run.changed});
    if (found.size() == mostInterrupted) break;
  }
  return found;
}

std::vector<NamedPlace> namedProjects(const QStringList& paths) {
  std::vector<NamedPlace> named;
  for (const QString& path : paths) named.push_back({nameOfProject(path), path});
  return named;
}

QString runName(const QString& place) {
  QString problem;
  const auto remote = RemotePlace::parse(place, problem);
  if (!remote) return QFileInfo(QDir::cleanPath(place)).fileName();
  return QCoreApplication::translate("Places", "%1 on %2")
      .arg(QFileInfo(QDir::cleanPath(remote->path)).fileName(), remote->host);
}

} // namespace millrace::ui

// Places that the window opens or offers, looked at on the disk: any thread but the GUI's. What they are called is one
// rule for the whole window: a run by its folder, a project by its own name.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace millrace::ui {

enum class PlaceKind { File, Run, Model, Other };

/// A missing one is a File: reading it tells.
PlaceKind kindOf(const QString& path);

/// A run that could be gone on with.
struct InterruptedRun {
  QString name;
  QString directory;
  QString reason;
  qint64 step = 0;
  double changed = 0; ///< seconds since 1970
  bool operator==(const InterruptedRun&) const = default;
};

/// Of the folder where runs go, the newest.
std::vector<InterruptedRun> interruptedRuns();

struct NamedPlace {
  QString name;
  QString place;
  bool operator==(const NamedPlace&) const = default;
};

/// Of project files: the names that they give themselves, else the files' own.
std::vector<NamedPlace> namedProjects(const QStringList& paths);

/// Of the directory of a run or its ssh:// address. Looks at nothing; any thread.
QString runName(const QString& place);

} // namespace millrace::ui

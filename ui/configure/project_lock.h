// A project file is open for changes in one program at a time: a lock beside it says in which. Locks of programs that
// are gone do not count. Reads and writes files: any thread but the GUI's.
#pragma once

#include <QLockFile>
#include <QString>
#include <memory>
#include <optional>

namespace millrace::ui {

/// Who has a project open.
struct ProjectHolder {
  qint64 process = 0;
  QString program; ///< empty: not told
  QString host;
};

struct ProjectLock {
  QString project;                     ///< whose lock it is: the path of the file
  std::shared_ptr<QLockFile> lock;     ///< null: another program has it, or none can be made there; freed with it
  std::optional<ProjectHolder> holder; ///< another program
};

/// "millrace-workbench (process 123 on box)"
QString holderText(const ProjectHolder& holder);

/// Takes the lock if it is free. What cannot be locked, as in a folder that cannot be written to, is not.
ProjectLock lockProject(const QString& path);

/// ".goose.json.lock" beside the file.
QString lockFileOf(const QString& project);

} // namespace millrace::ui

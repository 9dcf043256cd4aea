#include "configure/project_lock.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QSysInfo>

namespace millrace::ui {

QString lockFileOf(const QString& project) {
  const QFileInfo file(project);
  // One file, whichever link leads to it.
  const QFileInfo real(file.exists() ? file.canonicalFilePath() : file.absoluteFilePath());
  return real.dir().filePath(QStringLiteral(".%1.lock").arg(real.fileName()));
}

QString holderText(const ProjectHolder& holder) {
  const QString program =
      holder.program.isEmpty() ? QCoreApplication::translate("ProjectLock", "another program") : holder.program;
  return holder.host.isEmpty()
             ? QCoreApplication::translate("ProjectLock", "%1 (process %2)").arg(program).arg(holder.process)
             : QCoreApplication::translate("ProjectLock", "%1 (process %2 on %3)")
                   .arg(program)
                   .arg(holder.process)
                   .arg(holder.host);
}

ProjectLock lockProject(const QString& path) {
  ProjectLock taken{path, nullptr, std::nullopt};
  auto lock = std::make_shared<QLockFile>(lockFileOf(path));
  lock->setStaleLockTime(0); // a project is open for days; the lock of a process that is gone is stale all the same
  if (lock->tryLock(0)) {
    taken.lock = std::move(lock);
    return taken;
  }
  ProjectHolder holder;
  if (lock->error() != QLockFile::LockFailedError || !lock->getLockInfo(&holder.process, &holder.host, &holder.program))
    return taken;
  const bool ours = holder.process == QCoreApplication::applicationPid() && holder.host == QSysInfo::machineHostName();
  if (!ours) taken.holder = holder;
  return taken;
}

} // namespace millrace::ui

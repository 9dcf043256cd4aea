// A folder with made-up commands that come first in PATH, and scripts run there: what a fresh, a locked or an offline
// machine does, without touching this one. Each made-up command appends its name and arguments to one log.
#pragma once

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>

struct Outcome {
  int code = -1;
  QString out;
  QString err;
};

class Sandbox {
 public:
  /// The folder's name has a blank and a quote, as people's folders have.
  Sandbox() { QDir().mkpath(path("bin")); }

  QString path(const QString& name) const { return m_folder.filePath("it's a folder/" + name); }

  void file(const QString& name, const QString& text) const {
    QDir().mkpath(QFileInfo(path(name)).path());
    QFile file(path(name));
    if (file.open(QIODevice::WriteOnly)) file.write(text.toUtf8());
  }
  QString read(const QString& name) const {
    QFile file(path(name));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
  }
  void executable(const QString& name, const QString& text) const {
    file(name, text);
    QFile::setPermissions(path(name), QFile::permissions(path(name)) | QFile::ExeOwner | QFile::ExeUser);
  }
  /// A command in PATH: its call is logged, then the body runs.
  void command(const QString& name, const QString& body) const {
    executable("bin/" + name, "#!/bin/bash\nprintf '%s\\n' \"" + name + " $*\" >>\"$SANDBOX/log\"\n" + body + "\n");
  }
  QStringList log() const { return read("log").split('\n', Qt::SkipEmptyParts); }
  void clearLog() const { QFile::remove(path("log")); }

  Outcome run(const QString& script, const QStringList& arguments, const QMap<QString, QString>& variables = {}) const {
    QProcess process;
    QProcessEnvironment environment;
    environment.insert("PATH", path("bin") + ":/usr/bin:/bin");
    environment.insert("SANDBOX", path(""));
    environment.insert("HOME", path("home"));
    for (auto entry = variables.begin(); entry != variables.end(); ++entry)
      environment.insert(entry.key(), entry.value());
    process.setProcessEnvironment(environment);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setWorkingDirectory(path(""));
    process.start("bash", QStringList(script) + arguments);
    Outcome outcome;
    if (!process.waitForFinished(60000)) return outcome;
    outcome.code = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    outcome.out = QString::fromUtf8(process.readAllStandardOutput());
    outcome.err = QString::fromUtf8(process.readAllStandardError());
    return outcome;
  }

 private:
  QTemporaryDir m_folder;
};

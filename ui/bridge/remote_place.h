// RemotePlace: a run directory on another machine, ssh://[user@]host[:port]/path, and the commands that reach it
// through the user's own ssh. No connection is made here.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

namespace millrace::ui {

struct RemotePlace {
  QString user; ///< empty: as ssh's configuration says
  QString host; ///< a name of ssh's configuration will do
  int port = 0; ///< 0: as ssh's configuration says
  QString path; ///< absolute, or ~/... below the home folder

  /// nullopt, and what is wrong in `problem`, when it is no such address. Names that ssh would take for options and
  /// characters that a host cannot have are refused.
  static std::optional<RemotePlace> parse(const QString& address, QString& problem);

  QString address() const;
  /// Arguments for ssh that carry out a program there; each of `command` arrives as it is, whatever it holds.
  QStringList sshArguments(const QStringList& command) const;
};

/// The text as one word for a POSIX shell.
QString shellQuoted(const QString& text);

} // namespace millrace::ui

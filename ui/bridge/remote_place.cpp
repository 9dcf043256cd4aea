#include "bridge/remote_place.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QUrl>

namespace millrace::ui {

namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("RemotePlace", text);
}

} // namespace

std::optional<RemotePlace> RemotePlace::parse(const QString& address, QString& problem) {
  static const QRegularExpression pattern(QStringLiteral(R"(^ssh://(?:([A-Za-z0-9._][A-Za-z0-9._-]*)@)?)"       // user
                                                         R"(([A-Za-z0-9._][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]))" // host
                                                         R"((?::([0-9]{1,5}))?(/.*)$)"));
  const QRegularExpressionMatch match = pattern.match(address.trimmed());
  if (!match.hasMatch()) {
    problem = tr("'%1' is no address of a run: expected ssh://host/path or ssh://user@host:port/path").arg(address);
    return std::nullopt;
  }
  RemotePlace place;
  place.user = match.captured(1);
  place.host = match.captured(2);
  if (place.host.startsWith(u'[')) place.host = place.host.mid(1, place.host.size() - 2);
  place.port = match.captured(3).toInt();
  place.path = match.captured(4);
  if (place.path.startsWith(QLatin1String("/~/"))) place.path.remove(0, 1);
  if (place.port > 65535) {
    problem = tr("'%1' names port %2, expected 1 to 65535").arg(address).arg(place.port);
    return std::nullopt;
  }
  if (place.path == QLatin1String("/") || place.path == QLatin1String("~/")) {
    problem = tr("'%1' names no run directory after the host").arg(address);
    return std::nullopt;
  }
  return place;
}

QString RemotePlace::address() const {
  const QString who = user.isEmpty() ? QString() : user + u'@';
  const QString at = host.contains(u':') ? u'[' + host + u']' : host;
  const QString through = port > 0 ? QStringLiteral(":%1").arg(port) : QString();
  const QString slash = path.startsWith(u'/') ? QString() : QStringLiteral("/");
  return QStringLiteral("ssh://") + who + at + through + slash + path;
}

QStringList RemotePlace::sshArguments(const QStringList& command) const {
  // Passwords have nobody to ask for them; a link that is dead is noticed within a minute.
  QStringList arguments = {QStringLiteral("-o"), QStringLiteral("BatchMode=yes"),
                           QStringLiteral("-o"), QStringLiteral("ConnectTimeout=15"),
                           QStringLiteral("-o"), QStringLiteral("ServerAliveInterval=15"),
                           QStringLiteral("-o"), QStringLiteral("ServerAliveCountMax=3"),
                           QStringLiteral("-T")};
  if (port > 0) arguments << QStringLiteral("-p") << QString::number(port);
  arguments << (user.isEmpty() ? host : user + u'@' + host) << QStringLiteral("--");
  QStringList words;
  for (const QString& word : command)
    words << (word.startsWith(QLatin1String("~/")) ? QStringLiteral("\"$HOME\"/") + shellQuoted(word.mid(2))
                                                   : shellQuoted(word));
  arguments << words.join(u' ');
  return arguments;
}

QString shellQuoted(const QString& text) {
  QString quoted = text;
  quoted.replace(u'\'', QLatin1String("'\\''"));
  return u'\'' + quoted + u'\'';
}

} // namespace millrace::ui

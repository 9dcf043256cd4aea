// RecentPlaces: the last project files or runs that were opened, newest first, kept in the settings.
#pragma once

#include <QObject>
#include <QStringList>

class QSettings;

namespace millrace::ui {

class RecentPlaces final : public QObject {
  Q_OBJECT

 public:
  /// key: of the list in the settings, which must outlive this.
  RecentPlaces(QSettings& settings, QString key, QObject* parent = nullptr);

  QStringList places() const;
  void add(const QString& place);
  void remove(const QString& place);

 Q_SIGNALS:
  void changed();

 private:
  void store(const QStringList& places);

  QSettings& m_settings;
  const QString m_key;
};

} // namespace millrace::ui

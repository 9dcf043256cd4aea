#include "shell/recent_places.h"

#include <QSettings>

namespace millrace::ui {

namespace {
constexpr qsizetype mostPlaces = 12;
} // namespace

RecentPlaces::RecentPlaces(QSettings& settings, QString key, QObject* parent)
    : QObject(parent), m_settings(settings), m_key(std::move(key)) {}

QStringList RecentPlaces::places() const {
  return m_settings.value(m_key).toStringList();
}

void RecentPlaces::add(const QString& place) {
  QStringList all = places();
  all.removeAll(place);
  all.prepend(place);
  store(all.mid(0, mostPlaces));
}

void RecentPlaces::remove(const QString& place) {
  QStringList all = places();
  all.removeAll(place);
  store(all);
}

void RecentPlaces::store(const QStringList& places) {
  m_settings.setValue(m_key, places);
  Q_EMIT changed();
}

} // namespace millrace::ui

#include "bridge/latest_file.h"

#include "bridge/background.h"

#include <QDir>
#include <QFileInfo>
#include <QSaveFile>
#include <mutex>
#include <optional>

namespace millrace::ui {

struct LatestFile::Shared {
  std::mutex writing; ///< held by whoever writes
  std::mutex mutex;   ///< guards what follows
  std::optional<QByteArray> text;
};

LatestFile::LatestFile(const QString& path, QObject* parent)
    : QObject(parent), m_path(path), m_shared(std::make_shared<Shared>()) {}

void LatestFile::write(const QByteArray& text) {
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->text = text;
  }
  const auto work = [shared = m_shared, path = m_path]() -> QString {
    const std::lock_guard writing(shared->writing);
    std::optional<QByteArray> latest;
    {
      const std::lock_guard lock(shared->mutex);
      latest.swap(shared->text);
    }
    if (!latest) return {}; // written by the one before
    QDir().mkpath(QFileInfo(path).path());
    QSaveFile file(path); // aside, flushed, renamed
    if (file.open(QIODevice::WriteOnly)) {
      file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
      file.write(*latest);
      if (file.commit()) return {};
    }
    return tr("%1 cannot be written: %2").arg(path, file.errorString());
  };
  inBackground(this, work, [this](const QString& problem) {
    if (!problem.isEmpty()) Q_EMIT failed(problem);
  });
}

} // namespace millrace::ui

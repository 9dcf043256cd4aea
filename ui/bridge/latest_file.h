// LatestFile: a small file that is written anew with every change, in the background and never by two at once; what was
// given last is what stays, also when its owner has gone by then.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QString>
#include <memory>

namespace millrace::ui {

class LatestFile final : public QObject {
  Q_OBJECT

 public:
  explicit LatestFile(const QString& path, QObject* parent = nullptr);

  QString path() const { return m_path; }
  /// Written aside, flushed and renamed, with its folder where that is missing. GUI thread.
  void write(const QByteArray& text);

 Q_SIGNALS:
  void failed(const QString& message);

 private:
  struct Shared;

  const QString m_path;
  std::shared_ptr<Shared> m_shared;
};

} // namespace millrace::ui

// Writes a model folder from a run or checkpoint without holding up the window. Owned by whoever shows how far it is;
// GUI thread, with the work on the pool's threads. One export at a time.
#pragma once

#include "engine/export.h"

#include <QObject>
#include <QTimer>
#include <atomic>
#include <memory>

namespace millrace::ui {

class ModelExport : public QObject {
  Q_OBJECT
 public:
  explicit ModelExport(QObject* parent = nullptr);
  /// Gives up what is being written.
  ~ModelExport() override;

  void start(const ModelChoice& choice, const Path& folder, ExportType type, Bytes maxShardBytes);
  /// failed() follows, unless it was done already.
  void cancel();
  bool isRunning() const { return m_running; }

 Q_SIGNALS:
  void progressed(double share); ///< 0 to 1
  void finished(const ExportedModel& model);
  void failed(const QString& message, bool cancelled);

 private:
  /// What both threads see.
  struct Shared {
    std::atomic<bool> cancelled = false;
    std::atomic<Bytes> done = 0;
    std::atomic<Bytes> total = 0;
  };

  std::shared_ptr<Shared> m_shared;
  QTimer m_look; ///< how far it is
  bool m_running = false;
};

} // namespace millrace::ui

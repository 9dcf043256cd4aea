#include "bridge/model_export.h"

#include "bridge/background.h"
#include "bridge/text.h"

#include <chrono>

namespace millrace::ui {

ModelExport::ModelExport(QObject* parent) : QObject(parent), m_shared(std::make_shared<Shared>()) {
  m_look.setInterval(std::chrono::milliseconds(100));
  connect(&m_look, &QTimer::timeout, this, [this] {
    if (const Bytes total = m_shared->total; total > 0)
      Q_EMIT progressed(static_cast<double>(m_shared->done) / static_cast<double>(total));
  });
}

ModelExport::~ModelExport() {
  m_shared->cancelled = true;
}

void ModelExport::start(const ModelChoice& choice, const Path& folder, ExportType type, Bytes maxShardBytes) {
  if (m_running) return;
  m_running = true;
  m_shared = std::make_shared<Shared>();
  m_look.start();
  const auto work = [shared = m_shared, choice, folder, type, maxShardBytes] {
    LocalFileSystem files;
    ExportOptions options;
    options.type = type;
    options.maxShardBytes = maxShardBytes;
    options.progress = [&](Bytes done, Bytes total) {
      shared->total = total;
      shared->done = done;
      return !shared->cancelled;
    };
    return exportModel(files, choice, folder, options);
  };
  inBackground(this, work, [this](const Result<ExportedModel>& outcome) {
    m_running = false;
    m_look.stop();
    if (outcome)
      Q_EMIT finished(*outcome);
    else
      Q_EMIT failed(toQt(outcome.error().message), outcome.error().kind == ErrorKind::Interrupted);
  });
}

void ModelExport::cancel() {
  m_shared->cancelled = true;
}

} // namespace millrace::ui

#include "bridge/machine_probe.h"

#include "bridge/background.h"
#include "bridge/text.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace millrace::ui {

/// What both threads see.
struct MachineProbe::Shared {
  std::atomic<bool> cancelled = false;
  std::mutex mutex; ///< of progress
  std::optional<ProbeProgress> progress;
};

namespace {

struct Measured {
  ProbeReport report;
  std::string notice;
};

Result<Measured> measure(const ProbeOptions& options) {
  LocalFileSystem files;
  MILLRACE_CHECK(checkDevice(options.compute.device, "the device"));
  Measured measured;
  MILLRACE_TRY(measured.report, probeMachine(files, options));
  MILLRACE_TRY(measured.notice, cacheRates(files, ratesCacheFile(), measured.report));
  return measured;
}

} // namespace

MachineProbe::MachineProbe(QObject* parent)
    : QObject(parent),
      m_wakeUp(std::make_shared<WakeUp>(this, [this] { tellProgress(); })),
      m_shared(std::make_shared<Shared>()) {}

MachineProbe::~MachineProbe() {
  m_wakeUp->release();
  m_shared->cancelled = true;
}

void MachineProbe::start(const std::string& device, const Path& disk) {
  if (m_running) return;
  m_running = true;
  m_shared = std::make_shared<Shared>();
  ProbeOptions options;
  options.compute.device = device;
  options.disk = disk;
  options.seconds = m_seconds;
  options.progress = [shared = m_shared, wakeUp = m_wakeUp](const ProbeProgress& progress) {
    {
      const std::lock_guard lock(shared->mutex);
      shared->progress = progress;
    }
    wakeUp->wake();
    return !shared->cancelled;
  };
  inBackground(
      this, [options = std::move(options)] { return measure(options); },
      [this](const Result<Measured>& outcome) {
        m_running = false;
        if (outcome)
          Q_EMIT finished(outcome->report, toQt(outcome->notice));
        else
          Q_EMIT failed(toQt(outcome.error().message), outcome.error().kind == ErrorKind::Interrupted);
      });
}

void MachineProbe::cancel() {
  m_shared->cancelled = true;
}

void MachineProbe::tellProgress() {
  if (!m_running) return; // of a measurement that has ended
  std::optional<ProbeProgress> progress;
  {
    const std::lock_guard lock(m_shared->mutex);
    progress = m_shared->progress;
  }
  if (progress) Q_EMIT progressed(toQt(progress->part), progress->done, progress->parts);
}

} // namespace millrace::ui

#include "bridge/machine_meter.h"

#include "bridge/background.h"

#include <QThreadPool>

namespace millrace::ui {

LoadSource thisMachinesLoad() {
  return [](const std::vector<std::string>& gpus) -> LoadFunction {
    return [monitor = std::make_shared<MachineMonitor>(gpus)] { return monitor->take(); };
  };
}

MachineMeter::MachineMeter(LoadSource source, QObject* parent) : QObject(parent), m_source(std::move(source)) {
  m_timer.setInterval(std::chrono::seconds(1));
  connect(&m_timer, &QTimer::timeout, this, &MachineMeter::look);
}

MachineMeter::~MachineMeter() {
  letGo();
}

void MachineMeter::start(const std::vector<std::string>& gpus) {
  letGo();
  m_timer.start();
  inBackground(
      this, [source = m_source, gpus] { return std::make_shared<LoadFunction>(source(gpus)); },
      [this, number = ++m_opened](const std::shared_ptr<LoadFunction>& load) {
        if (number != m_opened) return;
        m_load = load;
        look();
      });
}

void MachineMeter::stop() {
  m_timer.stop();
  ++m_opened;
  letGo();
}

void MachineMeter::letGo() {
  if (!m_load) return;
  QThreadPool::globalInstance()->start([load = std::move(m_load)]() mutable { load.reset(); });
  m_load = nullptr;
}

void MachineMeter::look() {
  if (m_looking || !m_load) return;
  m_looking = true;
  inBackground(
      this, [load = m_load] { return (*load)(); },
      [this, number = m_opened](const MachineLoad& load) {
        m_looking = false;
        if (number == m_opened) Q_EMIT looked(load);
      });
}

} // namespace millrace::ui

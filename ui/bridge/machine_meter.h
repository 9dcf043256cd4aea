// Looks at what the machine does, once a second while somebody looks on. Owned by whoever shows it; GUI thread, with
// the looking on threads of the pool.
#pragma once

#include "engine/machine_monitor.h"

#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace millrace::ui {

/// Gives what the machine does now, each time that it is called; by one thread at a time.
using LoadFunction = std::function<MachineLoad()>;
/// Opens what tells of the cards at these PCI addresses. Called on the pool's threads.
using LoadSource = std::function<LoadFunction(const std::vector<std::string>& gpus)>;

LoadSource thisMachinesLoad();

class MachineMeter : public QObject {
  Q_OBJECT
 public:
  explicit MachineMeter(LoadSource source = thisMachinesLoad(), QObject* parent = nullptr);
  ~MachineMeter() override;

  /// Begins, or goes on with other cards.
  void start(const std::vector<std::string>& gpus);
  /// Lets go of the driver.
  void stop();
  /// Between two looks; for tests.
  void setInterval(std::chrono::milliseconds interval) { m_timer.setInterval(interval); }

 Q_SIGNALS:
  void looked(const millrace::MachineLoad& load);

 private:
  void look();
  /// On the pool: what it holds has threads to wait for.
  void letGo();

  const LoadSource m_source;
  QTimer m_timer;
  std::shared_ptr<LoadFunction> m_load; ///< null: stopped, or not open yet
  quint64 m_opened = 0;                 ///< how often; what an earlier one gives is out of date
  bool m_looking = false;
};

} // namespace millrace::ui

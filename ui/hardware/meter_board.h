// What the machine does now: processors, memory, and each GPU with its link. GUI thread.
#pragma once

#include "engine/hardware.h"
#include "engine/machine_monitor.h"

#include <QWidget>
#include <vector>

class QVBoxLayout;

namespace millrace::ui {

class LoadMeter;

class MeterBoard final : public QWidget {
  Q_OBJECT

 public:
  explicit MeterBoard(QWidget* parent = nullptr);

  /// Whose cards there are meters for.
  void setProfile(const HardwareProfile& profile);
  void showLoad(const MachineLoad& load);
  /// The cards that meters are for: PCI addresses, in the order of MachineLoad::gpus.
  std::vector<std::string> gpus() const;

 private:
  struct Gpu {
    GpuFacts facts;
    LoadMeter *utilization, *memory, *power, *temperature, *linkIn, *linkOut;
  };

  LoadMeter* add(QLayout* row, const QString& title, const QString& name);
  void showGpu(const Gpu& gpu, const std::optional<GpuMetrics>& metrics);

  QVBoxLayout* m_layout;
  LoadMeter* m_cpu;
  LoadMeter* m_memory;
  std::vector<Gpu> m_gpus;
  std::vector<QWidget*> m_boxes; ///< of the GPUs
};

} // namespace millrace::ui

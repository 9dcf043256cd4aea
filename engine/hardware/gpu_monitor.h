// GpuMonitor: what a GPU does while a run uses it, looked at by a thread of its own. What the driver does not tell, or
// no longer tells, is left out; nothing that it answers ends a run.
#pragma once

#include "base/mutex.h"
#include "hardware/nvml_api.h"

#include "engine/step_metrics.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

namespace millrace {

class GpuMonitor {
 public:
  /// Of the card at a PCI address ("0000:17:00.0"), through the driver's library. Where that cannot be used take()
  /// tells nothing.
  explicit GpuMonitor(std::string pciAddress);
  /// Through a table of functions, which must stay usable from the monitor's thread.
  GpuMonitor(const NvmlApi& api, std::string pciAddress);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// Since the last call: means of what was seen, the last temperature, and bytes over the link by the time between.
  /// Calls that follow faster than the driver is looked at get what the call before got. nullopt: it tells nothing, or
  /// nothing any more.
  std::optional<GpuMetrics> take();

 private:
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
    std::optional<double> value() const { return count > 0 ? std::optional(sum / count) : std::nullopt; }
  };
  struct Seen {
    Mean utilization, power, memory;
    std::optional<double> temperature;
    std::array<std::uint64_t, 2> linkBytes{}; ///< in, out
    std::chrono::steady_clock::duration linkTime{};
    bool told = false; ///< by the last look that was taken, anything
    int looks = 0;
    void add(const Seen& other);
    GpuMetrics metrics() const;
  };
  void work();
  bool find();
  void lookAtLink(Seen& seen);
  void look(Seen& seen);

  std::optional<NvmlLibrary> m_library;
  const NvmlApi m_api;
  const std::string m_pciAddress;

  // The monitor's thread alone.
  NvmlDevice m_device = nullptr;
  std::array<std::optional<std::uint32_t>, 2> m_counters;
  std::chrono::steady_clock::time_point m_countedAt;

  Mutex m_mutex;
  Condition m_stop;
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  Seen m_seen MILLRACE_GUARDED_BY(m_mutex);
  std::optional<GpuMetrics> m_last MILLRACE_GUARDED_BY(m_mutex); ///< what take() gave
  std::thread m_thread;                                          ///< last: everything is there when it begins
};

} // namespace millrace

#include "hardware/gpu_monitor.h"

#include "hardware/nvml.h"

#include <algorithm>

namespace millrace {

namespace {

using Clock = std::chrono::steady_clock;

/// The link's counters have 32 bits and come round in 86 ms at 50 GB/s.
constexpr std::chrono::milliseconds betweenCounts{30};
/// The driver's own figures are means over a sixth of a second or more.
constexpr int countsBetweenLooks = 8;

std::optional<NvmlLibrary> openLibrary() {
  auto library = NvmlLibrary::open();
  if (!library) return std::nullopt;
  return std::move(*library);
}

} // namespace

GpuMonitor::GpuMonitor(std::string pciAddress)
    : m_library(openLibrary()),
      m_api(m_library ? m_library->api() : NvmlApi{}),
      m_pciAddress(std::move(pciAddress)),
      m_thread([this] { work(); }) {}

GpuMonitor::GpuMonitor(const NvmlApi& api, std::string pciAddress)
    : m_api(api), m_pciAddress(std::move(pciAddress)), m_thread([this] { work(); }) {}

GpuMonitor::~GpuMonitor() {
  {
    Lock lock(m_mutex);
    m_stopping = true;
  }
  m_stop.notifyAll();
  m_thread.join();
}

void GpuMonitor::Seen::add(const Seen& other) {
  const auto addMean = [](Mean& to, const Mean& from) {
    to.sum += from.sum;
    to.count += from.count;
  };
  addMean(utilization, other.utilization);
  addMean(power, other.power);
  addMean(memory, other.memory);
  for (std::size_t way = 0; way < linkBytes.size(); ++way) linkBytes[way] += other.linkBytes[way];
  linkTime += other.linkTime;
  if (other.looks == 0) return;
  temperature = other.temperature;
  told = other.told;
  looks += other.looks;
}

GpuMetrics GpuMonitor::Seen::metrics() const {
  GpuMetrics metrics;
  metrics.utilization = utilization.value();
  metrics.powerWatts = power.value();
  metrics.temperature = temperature;
  metrics.memoryUsed = memory.value();
  const double seconds = std::chrono::duration<double>(linkTime).count();
  if (seconds > 0) {
    metrics.linkIn = static_cast<double>(linkBytes[0]) / seconds;
    metrics.linkOut = static_cast<double>(linkBytes[1]) / seconds;
  }
  return metrics;
}

std::optional<GpuMetrics> GpuMonitor::take() {
  Lock lock(m_mutex);
  if (m_seen.looks == 0) return m_last;
  m_last = m_seen.told ? std::optional(m_seen.metrics()) : std::nullopt;
  m_seen = {};
  return m_last;
}

bool GpuMonitor::find() {
  if (!m_api.init || m_api.init() != nvmlSuccess) return false;
  unsigned count = 0;
  if (m_api.deviceCount(&count) == nvmlSuccess)
    for (unsigned index = 0; index < std::min(count, 1024u); ++index) {
      NvmlPciInfo pci = {};
      NvmlDevice device = nullptr;
      if (m_api.deviceByIndex(index, &device) != nvmlSuccess || m_api.pciInfo(device, &pci) != nvmlSuccess) continue;
      pci.busId[sizeof pci.busId - 1] = 0;
      if (busAddress(pci.busId) != m_pciAddress) continue;
      m_device = device;
      return true;
    }
  m_api.shutdown();
  return false;
}

/// What the counters have gone on by since the last time; a failure begins anew.
void GpuMonitor::lookAtLink(Seen& seen) {
  std::array<NvmlFieldValue, 2> fields{};
  fields[0].fieldId = nvmlFieldLinkReceived; // as the card sees it
  fields[1].fieldId = nvmlFieldLinkSent;
  const auto now = Clock::now();
  const bool told = m_api.fieldValues &&
                    m_api.fieldValues(m_device, static_cast<int>(fields.size()), fields.data()) == nvmlSuccess &&
                    std::all_of(fields.begin(), fields.end(), [](const auto& f) { return f.code == nvmlSuccess; });
  if (told && m_counters[0]) {
    for (std::size_t way = 0; way < fields.size(); ++way) // in 32 bits, so that coming round counts too
      seen.linkBytes[way] +=
          static_cast<std::uint32_t>(static_cast<std::uint32_t>(fields[way].value) - *m_counters[way]);
    seen.linkTime += now - m_countedAt;
  }
  for (std::size_t way = 0; way < fields.size(); ++way)
    m_counters[way] = told ? std::optional(static_cast<std::uint32_t>(fields[way].value)) : std::nullopt;
  m_countedAt = now;
}

void GpuMonitor::look(Seen& seen) {
  const auto tells = [&](bool answered) {
    seen.told = seen.told || answered;
    return answered;
  };
  NvmlUtilization utilization = {};
  if (m_api.utilization && tells(m_api.utilization(m_device, &utilization) == nvmlSuccess))
    seen.utilization.add(std::min(utilization.gpu, 100u) / 100.0);
  unsigned value = 0;
  if (m_api.power && tells(m_api.power(m_device, &value) == nvmlSuccess)) seen.power.add(value / 1e3);
  constexpr int ofTheChip = 0;
  if (m_api.temperature && tells(m_api.temperature(m_device, ofTheChip, &value) == nvmlSuccess))
    seen.temperature = value;
  NvmlMemory memory = {};
  if (tells(m_api.memoryInfo(m_device, &memory) == nvmlSuccess)) seen.memory.add(static_cast<double>(memory.used));
  ++seen.looks;
}

void GpuMonitor::work() {
  if (!find()) return;
  for (int count = 0;; ++count) {
    Seen seen;
    lookAtLink(seen);
    if (count % countsBetweenLooks == 0) look(seen);
    Lock lock(m_mutex);
    m_seen.add(seen);
    if (!m_stopping) m_stop.waitFor(m_mutex, betweenCounts);
    if (m_stopping) break;
  }
  m_api.shutdown();
}

} // namespace millrace

#include "probe/machine_probe.h"

#include "probe/adamw_state.h"
#include "probe/disk_rates.h"
#include "probe/memory_rates.h"
#include "probe/product_rates.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

// Far more than caches hold, which grow with the cores; and no more, since touching memory first takes its time, too.
constexpr std::int64_t leastParameters = 24'000'000;
constexpr std::int64_t parametersPerThread = 8'000'000;
constexpr std::int64_t mostParameters = 64'000'000;
constexpr Bytes mostCopyBytes = 64 * MiB;
constexpr Bytes adamWStateBytes = AdamWState::bytesPerParameter;
constexpr Bytes deviceAdamWBytes = 16;

class MachineProbe {
 public:
  MachineProbe(FileSystem& files, const ProbePlace& place, const ProbeOptions& options, ProbeReport& report,
               const ProbeClock& clock)
      : m_files(files), m_place(place), m_options(options), m_report(report), m_clock(clock) {}

  Status run() {
    if (!m_options.disk.empty() && !m_files.isDirectory(m_options.disk))
      return badInput(
          fmt::format("{}: is no folder; name an existing one on the disk to measure", m_options.disk.string()));
    const Bytes most = m_place.bytes * 4 / 5;
    const Bytes copyBytes = std::min(mostCopyBytes, m_place.bytes / 5 / 4);
    const std::int64_t wanted =
        std::clamp(parametersPerThread * m_place.pool.threads(), leastParameters, mostParameters);
    // Whole pieces: what is rounded up later would pass the limit.
    const std::int64_t parameters =
        std::min(wanted, most / adamWStateBytes) / AdamWState::pieceElements * AdamWState::pieceElements;
    const double seconds = m_options.seconds;
    add("copies", [=, this]() -> Status {
      MILLRACE_TRY(const CopyRates rates, measureCopies(m_place.device, copyBytes, {3, 50, seconds}, m_clock));
      DeviceRates& device = m_report.device;
      device.copyIn = rate(rates.in);
      device.copyOut = rate(rates.out);
      device.copyBoth = rate(rates.both);
      return {};
    });
    add("host memory and AdamW", [=, this]() -> Status {
      MILLRACE_TRY(const AdamWRates rates, measureAdamW(m_place.pool, parameters, {3, 15, 2 * seconds}, m_clock));
      m_report.hostFp32.memory = m_report.hostBf16.memory = rate(adamWTraffic * rates.traffic);
      m_report.hostFp32.adamW = rate(rates.fp32);
      m_report.hostBf16.adamW = rate(rates.split);
      m_report.peakMemory = std::max(m_report.peakMemory, adamWStateBytes * rates.parameters);
      return {};
    });
    add("AdamW beside copies", [=, this]() -> Status {
      MILLRACE_TRY(const BesideCopiesRates rates, measureAdamWBesideCopies(m_place.pool, m_place.device, parameters,
                                                                           copyBytes, {3, 15, 2 * seconds}, m_clock));
      m_report.hostFp32.adamWBesideCopies = rate(rates.fp32);
      m_report.hostBf16.adamWBesideCopies = rate(rates.split);
      m_report.peakMemory = std::max(m_report.peakMemory, adamWStateBytes * parameters + 4 * copyBytes);
      return {};
    });
    const auto products = [=, this](Precision precision, Rate& into) -> Status {
      MILLRACE_TRY(const ProductRate rates, measureProducts(m_place.device, precision, seconds, most, m_clock));
      into = rate(rates.flopsPerSecond, fmt::format("probe, products of side {}", rates.side));
      return {};
    };
    add("matrix products in fp32", [=, this] { return products(Precision::Fp32, m_report.device.gemmFp32); });
    if (m_place.device.kind() != DeviceKind::Cpu)
      add("matrix products in tf32", [=, this] { return products(Precision::Tf32, m_report.device.gemmTf32); });
    add("matrix products in bf16", [=, this] { return products(Precision::Bf16, m_report.device.gemmBf16); });
    add("device memory", [=, this]() -> Status {
      const std::int64_t count =
          std::min(m_place.device.kind() == DeviceKind::Cpu ? wanted : mostParameters, most / deviceAdamWBytes);
      MILLRACE_TRY(const double bytes, measureDeviceMemory(m_place.device, count, {3, 50, seconds}, m_clock));
      m_report.device.memory = rate(bytes);
      return {};
    });
    if (!m_options.disk.empty())
      add(fmt::format("the disk behind {}", m_options.disk.string()), [this] { return disk(); });

    const double began = m_clock();
    MILLRACE_CHECK(runParts());
    m_report.seconds = m_clock() - began;
    return {};
  }

 private:
  struct Part {
    std::string name;
    std::function<Status()> measure;
  };

  void add(std::string name, std::function<Status()> measure) {
    m_parts.push_back({std::move(name), std::move(measure)});
  }

  Status runParts() {
    for (std::size_t i = 0; i < m_parts.size(); ++i) {
      const Part& part = m_parts[i];
      if (m_options.progress && !m_options.progress({part.name, static_cast<int>(i), static_cast<int>(m_parts.size())}))
        return failure(ErrorKind::Interrupted, "measuring was given up");
      Status status;
      try {
        status = part.measure();
      } catch (const EngineException& problem) {
        status = tl::unexpected<Error>(problem.error());
      }
      if (!status) {
        m_report.failed.push_back(part.name);
        m_report.notes.push_back(fmt::format("{}: not measured: {}", part.name, status.error().message));
      }
      const Device& device = m_place.device;
      m_report.peakMemory = std::max(m_report.peakMemory, device.memoryUse(MemorySpace::Device).peak +
                                                              device.memoryUse(MemorySpace::Host).peak);
    }
    return {};
  }

  Status disk() {
    ProbedDisk& probe = m_report.disks.emplace_back();
    probe.folder = m_options.disk.string();
    DiskProbeOptions options;
    options.mostBytes = m_options.diskBytes;
    options.seconds = 2 * m_options.seconds;
    const auto measured = measureDisk(m_files, m_options.disk, options, m_clock);
    if (!measured) {
      probe.problem = measured.error().message;
      return tl::unexpected<Error>(measured.error());
    }
    const std::string source = measured->direct ? "probe" : "probe, through the system's cache";
    probe.rates.read = rate(measured->read, source);
    probe.rates.write = rate(measured->write, source);
    if (!measured->direct)
      m_report.notes.push_back(fmt::format("{}: the file system refuses unbuffered access, so memory shows in the "
                                           "rates: reading is slower than it seems",
                                           probe.folder));
    return {};
  }

  Rate rate(double perSecond, std::string source = "probe") const {
    return {perSecond, RateOrigin::Measured, std::move(source), m_report.measuredAt};
  }

  FileSystem& m_files;
  ProbePlace m_place;
  const ProbeOptions& m_options;
  ProbeReport& m_report;
  const ProbeClock& m_clock;
  std::vector<Part> m_parts;
};

} // namespace

Status runProbes(FileSystem& files, const ProbePlace& place, const ProbeOptions& options, ProbeReport& report,
                 const ProbeClock& clock) {
  return MachineProbe(files, place, options, report, clock).run();
}

} // namespace millrace

// Measuring what step times are predicted from: copies, memories, AdamW, matrix products, disks. And the cache that
// keeps the figures of machines, so that they are measured once. Plain values.
#pragma once

#include "base/file.h"
#include "base/result.h"
#include "engine/compute_options.h"
#include "engine/hardware.h"
#include "engine/rates.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// What rates hold for: the same program on the same processor and device with as many threads.
struct MachineKey {
  std::string host;
  std::string processor;
  std::string device; ///< "cpu", "NVIDIA H200"
  int threads = 0;
  std::string version; ///< of this program
  bool operator==(const MachineKey&) const = default;
};

/// threads: 0 for the usable cores.
MachineKey machineKey(const HardwareProfile& profile, int threads = 0, const std::string& device = "cpu");

struct ProbeProgress {
  std::string part; ///< what is measured next: "matrix products in bf16"
  int done = 0;     ///< parts
  int parts = 0;
};

struct ProbeOptions {
  ComputeOptions compute; ///< threads, and limits of what may be taken; both precisions are measured
  Path disk;              ///< a folder on the disk to measure; empty: no disk
  /// Memory taken at most at any moment, host and device together; never more than a quarter of what is free or
  /// allowed.
  Bytes memory = 2 * GiB;
  Bytes diskBytes = 2 * GiB; ///< of the file that is written and read; never more than half of the free space
  double seconds = 1;        ///< about so long for each figure; all together within 30 s when 1
  /// Told before each part, on the calling thread; false gives up with Interrupted.
  std::function<bool(const ProbeProgress&)> progress;
};

/// Of one folder.
struct ProbedDisk {
  std::string folder;
  std::string mountPoint; ///< with the device: which disk it is
  std::string device;
  DiskRates rates;
  std::string problem; ///< why it could not be measured; empty: it was
  bool operator==(const ProbedDisk&) const = default;
};

/// Rates that could not be measured are unknown, and a note says why.
struct ProbeReport {
  MachineKey machine;
  std::string measuredAt; ///< ISO 8601, UTC
  HostRates hostFp32;     ///< with AdamW on fp32 weights
  HostRates hostBf16;     ///< with AdamW on split weights, as bf16 computing has them
  DeviceRates device;
  std::vector<ProbedDisk> disks;
  std::vector<std::string> notes;
  std::vector<std::string> failed; ///< parts that could not be measured, each with a note
  Bytes peakMemory = 0;            ///< most that was allocated at once
  double seconds = 0;              ///< that measuring took

  const HostRates& host(Precision precision) const { return precision == Precision::Bf16 ? hostBf16 : hostFp32; }
  /// Of the disk behind a folder; null when it was not measured.
  const DiskRates* disk(const DiskFacts& facts) const;
};

/// Measures this machine now; nothing is cached. Takes seconds, and all threads that it may use. Errors: BadInput (the
/// disk's folder), DoesNotFit (less memory than measuring needs), Interrupted. A disk that is full or cannot be written
/// is a note.
Result<ProbeReport> probeMachine(FileSystem& files, const ProbeOptions& options);

/// millrace/rates.json in $XDG_CACHE_HOME, else in ~/.cache; empty where neither can be told or the home is not there:
/// then no cache is kept.
Path ratesCacheFile();

using WallTime = std::chrono::system_clock::time_point;
/// Rates older than this are marked: drivers, firmware and neighbours change.
constexpr int ratesKeepDays = 30;

struct CachedRates {
  std::optional<ProbeReport> report; ///< notes, failures, peak and seconds are not kept
  int days = 0;                      ///< since the oldest of the figures was measured, disks aside
  bool old = false;                  ///< more than ratesKeepDays
  std::string notice;                ///< what a person should know: nothing is there, it is damaged, it is old
};

/// What the cache has of the machine. Never an error: what cannot be read is reported in the notice, and is not there.
CachedRates cachedRates(FileSystem& files, const Path& cache, const MachineKey& machine,
                        WallTime now = std::chrono::system_clock::now());

/// Whose rates the cache has, the newest first; none where there is no whole cache.
std::vector<MachineKey> cachedMachines(FileSystem& files, const Path& cache);

/// Puts a report into the cache in place of the machine's earlier one, of which the other disks stay and the figures
/// that were not measured again, with their dates; other machines' entries stay. Written aside and renamed. The text
/// says what else a person should know: that a file that is no cache was kept aside as FILE.bad, or that no cache is
/// kept (an empty path); else it is empty. Errors: the file cannot be written, which leaves it as it was.
Result<std::string> cacheRates(FileSystem& files, const Path& cache, const ProbeReport& report);

/// BadInput when the path is something else than a whole cache of rates; what is not there may become one.
Status checkRatesCache(FileSystem& files, const Path& cache);

/// The profile with what was measured in place of what it has: of the CPU, or of all GPUs with the device's name. Pure.
HardwareProfile withMeasuredRates(HardwareProfile profile, const ProbeReport& report);

/// This machine's profile with what the cache has of it for so many threads (0: the usable cores) and what computes: a
/// GPU as an index into profile.nvidia.gpus, negative for the CPU. A machine that a file describes stays as it is.
/// notice: gets CachedRates::notice.
HardwareProfile withCachedRates(FileSystem& files, HardwareProfile profile, int threads = 0, int gpu = -1,
                                std::string* notice = nullptr);

/// Lines of "name  value" for people.
std::string probeTable(const ProbeReport& report);
/// One JSON object, indented.
std::string toJson(const ProbeReport& report);

} // namespace millrace

#include "run/owner_lock.h"

#include "base/file_lock.h"
#include "base/json_reader.h"
#include "base/mutex.h"
#include "run/descriptor.h"
#include "run/metrics_json.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <fmt/format.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace millrace {

namespace {

constexpr std::chrono::seconds heartbeatEvery{10};
constexpr double heartbeatLost = 60; // seconds
/// The record is padded to this, so that rewriting it in place never changes the file's size nor needs a new disk
/// block.
constexpr std::size_t recordBytes = 2048;

std::string recordText(const OwnerRecord& record) {
  Json json;
  json["host"] = record.process.host;
  json["boot_id"] = record.process.bootId;
  json["pid_namespace"] = record.process.pidNamespace;
  json["pid"] = record.process.pid;
  json["start_ticks"] = record.process.startTicks;
  json["since"] = record.since;
  json["heartbeat"] = record.heartbeat;
  if (record.ended) {
    json["ended"] = *record.ended;
    json["end_state"] = toString(record.endState);
    json["end_reason"] = record.endReason;
  }
  std::string text = toLine(json);
  if (text.size() >= recordBytes) { // only a reason can be that long
    json["end_reason"] = record.endReason.substr(0, 256);
    text = toLine(json);
  }
  text.resize(recordBytes - 1, ' ');
  return text + '\n';
}

std::optional<OwnerRecord> parseRecord(const std::string& text) {
  const auto json = parseJson(text, "owner");
  if (!json) return std::nullopt;
  JsonReader reader(*json, "owner");
  OwnerRecord record;
  record.process.host = reader.text("host", "");
  record.process.bootId = reader.text("boot_id", "");
  record.process.pidNamespace = reader.text("pid_namespace", "");
  record.process.pid = reader.integer("pid", 0, 0, INT32_MAX);
  record.process.startTicks = static_cast<std::uint64_t>(reader.integer("start_ticks", 0, 0, INT64_MAX));
  record.since = reader.number("since", 0, 0, 1e12);
  record.heartbeat = reader.number("heartbeat", 0, 0, 1e12);
  if (reader.has("ended")) {
    record.ended = reader.number("ended", 0, 0, 1e12);
    const std::string state = reader.text("end_state", "");
    for (const RunState known : {RunState::Finished, RunState::Failed, RunState::Interrupted})
      if (state == toString(known)) record.endState = known;
    record.endReason = reader.text("end_reason", "");
  }
  if (!reader.status() || record.process.pid == 0) return std::nullopt;
  return record;
}

std::optional<OwnerRecord> readRecord(int descriptor) {
  // Twice: the first time may meet a record that is half renewed.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::string text(2 * recordBytes, '\0');
    const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
    if (got <= 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(got));
    if (auto record = parseRecord(text)) return record;
  }
  return std::nullopt;
}

bool writeRecord(int descriptor, const OwnerRecord& record) {
  const std::string text = recordText(record);
  return ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

bool heartbeatIsRecent(const OwnerRecord& record) {
  return std::fabs(unixTime() - record.heartbeat) < heartbeatLost;
}

/// Whether the record's process may still run, where no lock can say so.
bool mayBeAlive(const OwnerRecord& record) {
  if (record.ended) return false;
  switch (livenessOf(record.process)) {
  case Liveness::Alive:
    return true;
  case Liveness::Dead:
    return false;
  case Liveness::Unknown:
    return heartbeatIsRecent(record);
  }
  return true;
}

/// A lock that is free settles the question, except where another machine may hold one that is not seen here.
bool freeLockSettles(int descriptor, const OwnerRecord& record) {
  return record.process.bootId == currentProcess().bootId || !isSharedFileSystem(descriptor);
}

struct LockedFile {
  Descriptor file;
  std::string warning; ///< see OwnerLock::warning()
};

/// Takes the lock, or says who has it.
Result<LockedFile> lockOwnerFile(const Path& ownerFile) {
  const std::string folder = ownerFile.parent_path().string();
  Descriptor file(::open(ownerFile.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    const int code = errno;
    return failure(code == ENOSPC || code == EDQUOT ? ErrorKind::OutOfSpace : ErrorKind::BadInput,
                   fmt::format("{}: cannot open: {}", ownerFile.string(),
                               std::error_code(code, std::generic_category()).message()));
  }
  const auto refuse = [&](const std::optional<OwnerRecord>& holder, const std::string& detail) {
    return badInput(fmt::format("{}: the run is live: {}{}; stop it first, or follow it with watch", folder,
                                holder ? describe(*holder) : "another process is about to work on it", detail));
  };

  const LockState state = tryLock(file.get());
  const std::optional<OwnerRecord> previous = readRecord(file.get());
  std::string warning;
  if (state == LockState::Held) return refuse(previous, "");
  if (state == LockState::Unsupported) {
    warning =
        fmt::format("{}: this file system does not lock files: make sure that no other machine runs this run", folder);
    if (previous && mayBeAlive(*previous)) return refuse(previous, "");
    if (previous && !previous->ended && livenessOf(previous->process) == Liveness::Unknown)
      return badInput(fmt::format("{}: this file system does not lock files, and {} has not said that it ended (last "
                                  "heard of {}); make sure that it runs no more, then remove {}",
                                  folder, describe(*previous), formatTime(previous->heartbeat), ownerFile.string()));
  } else if (previous && !freeLockSettles(file.get(), *previous) && mayBeAlive(*previous)) {
    return refuse(previous, fmt::format(" (last heard of {})", formatTime(previous->heartbeat)));
  }
  return LockedFile{std::move(file), std::move(warning)};
}

} // namespace

struct OwnerLock::Implementation {
  Implementation(Descriptor file, OwnerRecord owner, std::string remark)
      : descriptor(std::move(file)), record(std::move(owner)), warning(std::move(remark)) {}

  void beat() {
    Lock lock(mutex);
    while (!stopping) {
      if (condition.waitFor(mutex, heartbeatEvery) || stopping || record.ended) continue;
      record.heartbeat = unixTime();
      (void)writeRecord(descriptor.get(), record); // a missed heartbeat is made up for by the next
    }
  }

  Descriptor descriptor;
  Mutex mutex;
  Condition condition;
  OwnerRecord record; // the heartbeat and the end under the mutex; the rest never changes
  const std::string warning;
  bool stopping MILLRACE_GUARDED_BY(mutex) = false;
  std::thread heart;
};

OwnerLock::OwnerLock(std::unique_ptr<Implementation> implementation) : m_implementation(std::move(implementation)) {
  m_implementation->heart = std::thread([state = m_implementation.get()] { state->beat(); });
}

OwnerLock::~OwnerLock() {
  {
    Lock lock(m_implementation->mutex);
    m_implementation->stopping = true;
  }
  m_implementation->condition.notifyAll();
  m_implementation->heart.join();
}

Result<std::unique_ptr<OwnerLock>> OwnerLock::acquire(const Path& ownerFile) {
  MILLRACE_TRY(LockedFile locked, lockOwnerFile(ownerFile));
  OwnerRecord record;
  record.process = currentProcess();
  record.since = record.heartbeat = unixTime();
  if (!writeRecord(locked.file.get(), record)) {
    const int code = errno;
    return failure(code == ENOSPC || code == EDQUOT ? ErrorKind::OutOfSpace : ErrorKind::Failed,
                   fmt::format("{}: cannot write: {}", ownerFile.string(),
                               std::error_code(code, std::generic_category()).message()));
  }
  auto implementation =
      std::make_unique<Implementation>(std::move(locked.file), std::move(record), std::move(locked.warning));
  return std::unique_ptr<OwnerLock>(new OwnerLock(std::move(implementation)));
}

Result<Descriptor> holdOwnerFile(const Path& ownerFile) {
  MILLRACE_TRY(LockedFile locked, lockOwnerFile(ownerFile));
  return std::move(locked.file);
}

void OwnerLock::finish(RunState state, const std::string& reason) {
  Lock lock(m_implementation->mutex);
  OwnerRecord& record = m_implementation->record;
  record.ended = record.heartbeat = unixTime();
  record.endState = state;
  record.endReason = reason;
  (void)writeRecord(m_implementation->descriptor.get(), record);
  (void)::fsync(m_implementation->descriptor.get());
}

const OwnerRecord& OwnerLock::record() const {
  return m_implementation->record;
}

const std::string& OwnerLock::warning() const {
  return m_implementation->warning;
}

OwnerProbe probeOwner(const Path& ownerFile) {
  OwnerProbe probe;
  const Descriptor file(::open(ownerFile.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return probe;
  const LockState state = lockState(file.get());
  probe.record = readRecord(file.get());
  if (state == LockState::Held)
    probe.live = true;
  else if (probe.record && (state == LockState::Unsupported || !freeLockSettles(file.get(), *probe.record)))
    probe.live = mayBeAlive(*probe.record);
  return probe;
}

std::string describe(const OwnerRecord& record) {
  return fmt::format("process {} on host {}, since {}", record.process.pid, record.process.host,
                     formatTime(record.since));
}

} // namespace millrace

#include "optim/disk_updater.h"

#include "ops/adamw.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>

namespace millrace {

namespace {
/// In the narrowest plane, of two bytes an element, pieces begin where granules and pages do; then they do in all.
constexpr Bytes narrowest = 2;
constexpr std::int64_t granuleElements = diskGranule / narrowest;
constexpr std::int64_t pageElements = pageBytes / narrowest;
} // namespace

struct DiskUpdater::Work {
  DiskUpdate update;
  std::int64_t elements = 0;
  std::int64_t pieceElements = 0;
  std::optional<Error> error; ///< of the first piece that failed; the others are left out
};

struct DiskUpdater::Piece {
  std::shared_ptr<Work> work;
  std::int64_t first = 0, count = 0;
  std::byte* memory = nullptr; ///< its planes one behind the other, each with room for a whole piece
  DiskTier::Pending pending;
  bool isLast() const { return first + count == work->elements; }
};

DiskUpdater::DiskUpdater(DiskTier& tier, ThreadPool& pool, std::span<const std::span<std::byte>> buffers, AdamWIsa isa)
    : m_tier(tier), m_pool(pool), m_isa(isa) {
  for (const std::span<std::byte> buffer : buffers)
    m_buffers.push_back({buffer.data(), static_cast<Bytes>(buffer.size())});
  m_thread = std::thread([this] { work(); });
}

DiskUpdater::~DiskUpdater() {
  {
    Lock lock(m_mutex);
    m_stopping = true;
    for (const DiskUpdate& update : m_updates)
      update.done.fail({ErrorKind::Interrupted, "the optimizer was stopped before this update"});
    m_updates.clear();
  }
  m_submitted.notifyOne();
  m_thread.join();
}

void DiskUpdater::submit(DiskUpdate update) {
  Lock lock(m_mutex);
  m_updates.push_back(std::move(update));
  m_submitted.notifyOne();
}

double DiskUpdater::busySeconds() const {
  Lock lock(m_mutex);
  return m_busySeconds;
}

/// The next update; what is under way is finished before one is waited for. False: the end.
bool DiskUpdater::take(DiskUpdate& update) {
  for (;;) {
    {
      Lock lock(m_mutex);
      const bool idle = !m_reading && m_writing.empty();
      while (m_updates.empty() && !m_stopping && idle) m_submitted.wait(m_mutex);
      if (!m_updates.empty()) {
        update = std::move(m_updates.front());
        m_updates.pop_front();
        return true;
      }
      if (idle) return false;
    }
    drain();
  }
}

void DiskUpdater::work() {
  DiskUpdate update;
  while (take(update)) {
    const auto work = std::make_shared<Work>();
    work->update = std::move(update);
    try {
      if (!work->update.landed.ready()) drain();
      work->update.landed.synchronize();
      process(work);
    } catch (const EngineException& problem) {
      work->update.done.fail(problem.error());
    } catch (const std::exception& problem) {
      work->update.done.fail({ErrorKind::Failed, std::string("AdamW of state on disk: ") + problem.what()});
    }
  }
}

void DiskUpdater::process(const std::shared_ptr<Work>& work) {
  Bytes elementBytes = 0;
  const AdamWArgs& any = work->update.ranges.front();
  for (const DiskUpdate::Operand& operand : work->update.onDisk)
    elementBytes += bytesPerElement((any.*operand.view).dtype);
  for (const AdamWArgs& range : work->update.ranges) work->elements += range.m.shape[0];
  const std::int64_t most = m_buffers.front().bytes / elementBytes;
  const std::int64_t whole = alignUp(work->elements, pageElements);
  work->pieceElements = most >= whole ? whole : most / granuleElements * granuleElements;
  assert(work->pieceElements > 0 && "the buffers are too small for a piece");
  for (std::int64_t first = 0; first < work->elements; first += work->pieceElements) {
    Piece piece;
    piece.work = work;
    piece.first = first;
    piece.count = std::min(work->pieceElements, work->elements - first);
    startReading(std::move(piece));
  }
}

/// Also finishes reading the piece before, which is updated while this one comes in.
void DiskUpdater::startReading(Piece piece) {
  if (m_writing.size() + (m_reading ? 1 : 0) == m_buffers.size()) {
    if (m_writing.empty()) updatePieceRead(); // there is but one buffer
    finishOldestWrite();
  }
  piece.memory = m_buffers[m_next].data;
  m_next = (m_next + 1) % m_buffers.size();
  piece.pending = m_tier.read(transfersOf(piece, false));
  if (m_reading) updatePieceRead();
  m_reading = std::make_unique<Piece>(std::move(piece));
  while (!m_writing.empty() && m_writing.front().pending.ready()) finishOldestWrite();
}

void DiskUpdater::updatePieceRead() {
  Piece piece = std::move(*m_reading);
  m_reading.reset();
  Work& work = *piece.work;
  if (const Status read = piece.pending.wait(); !read && !work.error) work.error = read.error();
  if (!work.error) {
    const auto start = std::chrono::steady_clock::now();
    adamWUpdate(m_pool, argumentsOf(piece), m_isa);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    piece.pending = m_tier.write(transfersOf(piece, true));
    Lock lock(m_mutex);
    m_busySeconds += seconds;
  }
  m_writing.push_back(std::move(piece));
}

void DiskUpdater::finishOldestWrite() {
  Piece piece = std::move(m_writing.front());
  m_writing.pop_front();
  Work& work = *piece.work;
  if (const Status written = piece.pending.wait(); !written && !work.error) work.error = written.error();
  if (!piece.isLast()) return;
  if (work.error)
    work.update.done.fail(*work.error);
  else
    work.update.done.signal();
}

void DiskUpdater::drain() {
  if (m_reading) updatePieceRead();
  while (!m_writing.empty()) finishOldestWrite();
}

std::vector<DiskTransfer> DiskUpdater::transfersOf(const Piece& piece, bool written) const {
  std::vector<DiskTransfer> transfers;
  Bytes at = 0;
  for (const DiskUpdate::Operand& operand : piece.work->update.onDisk) {
    const Bytes size = bytesPerElement((piece.work->update.ranges.front().*operand.view).dtype);
    if (!written || operand.view != &AdamWArgs::gradient)
      transfers.push_back({{operand.range, piece.first * size, piece.count * size}, piece.memory + at});
    at += piece.work->pieceElements * size;
  }
  return transfers;
}

std::vector<AdamWArgs> DiskUpdater::argumentsOf(const Piece& piece) const {
  std::vector<AdamWArgs> arguments;
  std::int64_t begin = 0; // of a range
  for (const AdamWArgs& range : piece.work->update.ranges) {
    const std::int64_t end = begin + range.m.shape[0];
    const std::int64_t first = std::max(begin, piece.first), last = std::min(end, piece.first + piece.count);
    if (first < last) {
      AdamWArgs part = ops::rangeOf(range, first - begin, last - first);
      Bytes at = 0;
      for (const DiskUpdate::Operand& operand : piece.work->update.onDisk) {
        const DType dtype = (range.*operand.view).dtype;
        const Bytes size = bytesPerElement(dtype);
        part.*operand.view = TensorView(piece.memory + at + (first - piece.first) * size, dtype, Shape{last - first});
        at += piece.work->pieceElements * size;
      }
      arguments.push_back(part);
    }
    begin = end;
  }
  return arguments;
}

} // namespace millrace

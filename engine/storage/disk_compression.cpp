#include "storage/disk_compression.h"

#include "base/page_memory.h"

#include <algorithm>
#include <chrono>

namespace millrace {

namespace {

/// So many granules of a kind are compressed before it is judged, and later one in so many of what is not worth it:
/// moments are zeros at first, and drives slow down.
constexpr std::int64_t leastTried = 16;
constexpr std::int64_t triedAgainAfter = 64;

/// A mean over about as many values.
void follow(double& mean, double value, std::int64_t before) {
  mean += (value - mean) / static_cast<double>(std::min<std::int64_t>(before + 1, 32));
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds a byte; 0 while nothing is known.
double cost(const BlockMeter::Use& use) {
  return use.bytes > 0 ? use.seconds / static_cast<double>(use.bytes) : 0;
}

} // namespace

DiskCompressor::DiskCompressor(DiskCompression mode, std::vector<std::string> kinds, int threads,
                               const BlockMeter& meter)
    : m_mode(mode), m_threads(threads), m_meter(meter), m_kinds(kinds.size()) {
  for (std::size_t k = 0; k < kinds.size(); ++k) m_kinds[k].use.kind = std::move(kinds[k]);
}

std::unique_ptr<GranuleCodec> DiskCompressor::takeCodec() {
  {
    const Lock lock(m_mutex);
    if (!m_codecs.empty()) {
      auto codec = std::move(m_codecs.back());
      m_codecs.pop_back();
      return codec;
    }
  }
  return std::make_unique<GranuleCodec>();
}

void DiskCompressor::giveBack(std::unique_ptr<GranuleCodec> codec) {
  const Lock lock(m_mutex);
  m_codecs.push_back(std::move(codec));
}

/// What the drive saves each way, beside what compressing and expanding takes of all cores.
bool DiskCompressor::isWorthTrying(Kind& kind) const {
  if (m_mode != DiskCompression::Auto) return m_mode == DiskCompression::On;
  if (kind.compressed < leastTried) return true;
  const double saved =
      (1 - kind.movedShare) * (cost(m_meter.use(BlockAction::Write)) + cost(m_meter.use(BlockAction::Read)));
  const double spent = (kind.compressSeconds + kind.expandSeconds) / m_threads;
  return saved > spent || ++kind.passed % triedAgainAfter == 0;
}

Bytes DiskCompressor::compress(std::size_t kind, std::span<std::byte> contents, int width) {
  const auto bytes = static_cast<Bytes>(contents.size());
  bool worthTrying = false;
  {
    const Lock lock(m_mutex);
    worthTrying = isWorthTrying(m_kinds[kind]);
  }
  const Bytes pages = alignUp(bytes, pageBytes);
  Bytes stored = 0;
  double seconds = 0;
  if (worthTrying) {
    auto codec = takeCodec();
    const double began = now();
    stored = codec->compress(contents, width, pages - pageBytes);
    seconds = now() - began;
    giveBack(std::move(codec));
  }
  const Bytes moved = stored > 0 ? alignUp(stored, pageBytes) : pages;
  const Lock lock(m_mutex);
  Kind& of = m_kinds[kind];
  of.use.contents += pages;
  of.use.moved += moved;
  if (worthTrying) {
    follow(of.movedShare, static_cast<double>(moved) / static_cast<double>(pages), of.compressed);
    follow(of.compressSeconds, seconds / static_cast<double>(bytes), of.compressed);
    ++of.compressed;
  }
  return stored;
}

bool DiskCompressor::expand(std::size_t kind, std::span<std::byte> contents, int width, Bytes stored) {
  auto codec = takeCodec();
  const double began = now();
  const bool done = codec->expand(contents, width, stored);
  const double seconds = now() - began;
  giveBack(std::move(codec));
  const Lock lock(m_mutex);
  Kind& of = m_kinds[kind];
  follow(of.expandSeconds, seconds / static_cast<double>(contents.size()), of.expanded++);
  return done;
}

std::vector<CompressionUse> DiskCompressor::use() const {
  std::vector<CompressionUse> use;
  const Lock lock(m_mutex);
  for (const Kind& kind : m_kinds) use.push_back(kind.use);
  return use;
}

} // namespace millrace

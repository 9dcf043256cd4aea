#include "data/shard_series.h"

#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace millrace {

namespace {

/// How often who waits is asked whether to go on.
constexpr auto askEvery = std::chrono::milliseconds(100);

std::int64_t learntTargets(const TokenShard& shard, std::size_t i) {
  if (shard.documents()[i].wholeLearnt != 0) return shard.length(i) - 1;
  std::int64_t targets = 0;
  for (const TokenRange& range : shard.learnt(i)) targets += range.end - std::max<std::uint32_t>(range.begin, 1);
  return targets;
}

ShardFacts factsOf(const TokenShard& shard, double validationFraction) {
  ShardFacts facts;
  facts.documents = static_cast<std::int64_t>(shard.documents().size());
  for (std::size_t i = 0; i < shard.documents().size(); ++i) {
    const CachedDocument& document = shard.documents()[i];
    facts.textBytes += static_cast<std::int64_t>(document.textBytes);
    if (isValidationDocument(document.hash, validationFraction)) {
      ++facts.validationDocuments;
      facts.validationTokens += shard.length(i);
    } else {
      facts.trainingTokens += shard.length(i);
      facts.trainingTargets += learntTargets(shard, i);
    }
  }
  return facts;
}

} // namespace

bool isValidationDocument(std::uint64_t hash, double validationFraction) {
  return static_cast<std::int64_t>(hash % 10000) < std::llround(validationFraction * 10000);
}

ShardFacts& ShardFacts::operator+=(const ShardFacts& other) {
  documents += other.documents;
  validationDocuments += other.validationDocuments;
  trainingTokens += other.trainingTokens;
  validationTokens += other.validationTokens;
  trainingTargets += other.trainingTargets;
  textBytes += other.textBytes;
  return *this;
}

ShardSeries::ShardSeries(FileSystem& files, Path folder, std::string key, std::int64_t vocabularySize,
                         double validationFraction)
    : m_files(files),
      m_folder(std::move(folder)),
      m_key(std::move(key)),
      m_vocabularySize(vocabularySize),
      m_validationFraction(validationFraction) {}

Path ShardSeries::pathOf(std::size_t shard) const {
  return m_folder / fmt::format("{:08}.tokens", shard);
}

std::size_t ShardSeries::shards() const {
  Lock lock(m_mutex);
  return m_facts.size();
}

bool ShardSeries::complete() const {
  Lock lock(m_mutex);
  return m_complete;
}

ShardFacts ShardSeries::facts(std::size_t shard) const {
  Lock lock(m_mutex);
  return m_facts[shard];
}

ShardFacts ShardSeries::total() const {
  Lock lock(m_mutex);
  return m_total;
}

CachedCounts ShardSeries::counts() const {
  Lock lock(m_mutex);
  return m_counts;
}

DataProgress ShardSeries::progress() const {
  Lock lock(m_mutex);
  return m_progress;
}

Error ShardSeries::nothingToTrainOn() const {
  return {ErrorKind::BadInput,
          fmt::format("no training data: all of the {} documents are held back for validation; lower the validation "
                      "fraction ({}) or add documents",
                      total().documents, m_validationFraction)};
}

Status ShardSeries::failure() const {
  Lock lock(m_mutex);
  return m_failure;
}

bool ShardSeries::awaited() const {
  Lock lock(m_mutex);
  return m_waiting > 0;
}

Result<std::shared_ptr<const TokenShard>> ShardSeries::open(std::size_t shard) const {
  return TokenShard::open(m_files, pathOf(shard), m_key, m_vocabularySize, ShardCheck::Tables);
}

Status ShardSeries::waitFor(std::size_t shards, const DataProgressCallback& waiting) const {
  Lock lock(m_mutex);
  const auto there = [&]() MILLRACE_REQUIRES(m_mutex) { return m_complete || m_facts.size() >= shards; };
  ++m_waiting;
  Status outcome;
  while (outcome && !there()) {
    if (!m_failure) {
      outcome = m_failure;
    } else if (!m_changed.waitFor(m_mutex, askEvery) && waiting) {
      const DataProgress now = m_progress;
      m_mutex.unlock();
      const bool goOn = waiting(now);
      m_mutex.lock();
      if (!goOn) outcome = dataInterrupted();
    }
  }
  --m_waiting;
  return outcome;
}

Status ShardSeries::waitUntilComplete(const DataProgressCallback& waiting) const {
  return waitFor(std::numeric_limits<std::size_t>::max(), waiting);
}

void ShardSeries::add(const TokenShard& shard) {
  const ShardFacts facts = factsOf(shard, m_validationFraction);
  Lock lock(m_mutex);
  m_facts.push_back(facts);
  m_total += facts;
  m_counts = shard.place().counts;
  m_complete = shard.place().last;
  m_changed.notifyAll();
}

void ShardSeries::setProgress(const DataProgress& progress) {
  Lock lock(m_mutex);
  m_progress = progress;
}

void ShardSeries::fail(Error error) {
  Lock lock(m_mutex);
  if (!m_complete) m_failure = tl::unexpected<Error>(std::move(error));
  m_changed.notifyAll();
}

} // namespace millrace

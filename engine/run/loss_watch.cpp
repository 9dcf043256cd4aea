#include "run/loss_watch.h"

#include <algorithm>
#include <cmath>

namespace millrace {

namespace {
constexpr std::int64_t stepsToLearn = 50; ///< what is usual; the first fall of the loss is over by then
constexpr std::int64_t stepsOfOneSpike = 50;
constexpr double share = 0.04; ///< of each step in the means: about the last 25 count
constexpr double deviations = 8;
constexpr double leastRise = 0.1; ///< of the mean: a loss that barely moves has a small deviation
} // namespace

std::optional<double> LossWatch::spikeAbove(double loss) {
  const double mean = m_mean;
  const double limit = mean + std::max(deviations * m_deviation, leastRise * std::abs(mean));
  const bool spike = m_seen >= stepsToLearn && loss > limit;
  if (m_seen == 0) m_mean = loss;
  // What is unusual moves the means no further than the limit does, so that a plateau up there is learnt in time.
  const double counted = m_seen >= stepsToLearn ? std::min(loss, limit) : loss;
  m_deviation += std::max(share, 1.0 / static_cast<double>(m_seen + 1)) * (std::abs(counted - m_mean) - m_deviation);
  m_mean += std::max(share, 1.0 / static_cast<double>(m_seen + 1)) * (counted - m_mean);
  ++m_seen;
  if (!spike) return std::nullopt;
  const bool quiet = m_seen < m_quietUntil;
  m_quietUntil = m_seen + stepsOfOneSpike;
  if (quiet) return std::nullopt;
  return mean;
}

} // namespace millrace

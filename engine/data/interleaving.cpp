#include "data/interleaving.h"

#include <cassert>
#include <limits>
#include <numeric>

namespace millrace {

Interleaving::Interleaving(const std::vector<double>& weights) : m_shares(weights), m_taken(weights.size()) {
  assert(!weights.empty());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& share : m_shares) share /= sum;
}

std::size_t Interleaving::next() {
  const auto count = static_cast<double>(m_shares.size());
  const double least = count > 1 ? 1 / (2 * count - 2) : 0; // what a source must be behind to have a turn
  const auto turns = static_cast<double>(++m_turns);
  // Of those the one that would first be too far behind without it.
  std::size_t chosen = 0;
  double soonest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < m_shares.size(); ++i) {
    const double behind = m_shares[i] * turns - static_cast<double>(m_taken[i]);
    const double wait = (1 - least - behind) / m_shares[i];
    if (behind < least || wait >= soonest) continue;
    chosen = i;
    soonest = wait;
  }
  ++m_taken[chosen];
  return chosen;
}

} // namespace millrace

// Whose turn it is when sources are drawn from by weight: no dice, but an order in which every source's count is within
// one of its share at every place (Tijdeman, "The chairman assignment problem", 1980). Its state follows from the
// number of turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

class Interleaving {
 public:
  /// weights: above 0 and finite, of at least one source; shares are in proportion to them.
  explicit Interleaving(const std::vector<double>& weights);

  /// The source of the next turn, which is taken.
  std::size_t next();
  std::int64_t turns() const { return m_turns; }
  /// How many of the turns each source had.
  const std::vector<std::int64_t>& taken() const { return m_taken; }
  /// Adds up to 1.
  const std::vector<double>& shares() const { return m_shares; }

 private:
  std::vector<double> m_shares;
  std::vector<std::int64_t> m_taken;
  std::int64_t m_turns = 0;
};

} // namespace millrace

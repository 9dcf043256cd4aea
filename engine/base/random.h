// Seeded random numbers whose whole state is two words. A generator is named by (seed, stream), so that the weights of
// one tensor or the order of one epoch do not depend on what was drawn before.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

/// SplitMix64 (Steele, Lea, Flood 2014): 64-bit counter, full period, good enough for initialisation, shuffles and
/// sampling.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);
  /// A stream named by text, for example a tensor's name.
  Random(std::uint64_t seed, std::string_view stream);

  std::uint64_t next();
  /// As if next() had been called `count` times; a spare normal is dropped.
  void skip(std::uint64_t count);
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [0, bound), without bias; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box-Muller, both values used).
  double normal();

  std::uint64_t state() const { return m_state; }

 private:
  std::uint64_t m_state;
  double m_spare = 0;
  bool m_hasSpare = false;
};

} // namespace millrace

#include "base/random.h"

#include "base/hash.h"

#include <cmath>
#include <numbers>

namespace millrace {

namespace {
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
} // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) : m_state(mix(seed + 0x9E3779B97F4A7C15ull) ^ mix(~stream)) {}
Random::Random(std::uint64_t seed, std::string_view stream) : Random(seed, hash64(stream)) {}

std::uint64_t Random::next() {
  m_state += 0x9E3779B97F4A7C15ull;
  return mix(m_state);
}

void Random::skip(std::uint64_t count) {
  m_state += count * 0x9E3779B97F4A7C15ull;
  m_hasSpare = false;
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  // Rejection below 2^64 mod bound leaves a multiple of bound values.
  const std::uint64_t reject = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = next();
    if (value >= reject) return value % bound;
  }
}

double Random::normal() {
  if (m_hasSpare) {
    m_hasSpare = false;
    return m_spare;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  m_spare = radius * std::sin(angle);
  m_hasSpare = true;
  return radius * std::cos(angle);
}

} // namespace millrace

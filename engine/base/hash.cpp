#include "base/hash.h"

#include <fmt/format.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace millrace {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct Hasher128::State {
  XXH3_state_t xxh;
};

Hasher128::Hasher128() : m_state(std::make_unique<State>()) {
  XXH3_INITSTATE(&m_state->xxh);
  XXH3_128bits_reset(&m_state->xxh);
}
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;
Hasher128& Hasher128::operator=(Hasher128&&) noexcept = default;

void Hasher128::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&m_state->xxh, bytes.data(), bytes.size());
}

void Hasher128::update(std::string_view text) {
  XXH3_128bits_update(&m_state->xxh, text.data(), text.size());
}

std::string Hasher128::hex() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(&m_state->xxh);
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

} // namespace millrace

// XXH3 checksums: what protects every file the project writes, and what keys caches by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

/// XXH3-64 of the bytes.
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);
std::uint64_t hash64(std::span<const std::byte> bytes);

/// Streaming XXH3-128. Not thread-safe.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  /// 32 lower-case hexadecimal digits of everything seen so far.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

} // namespace millrace

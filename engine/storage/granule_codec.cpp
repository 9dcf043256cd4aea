#include "storage/granule_codec.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <type_traits>
#include <zstd.h>

namespace millrace {

namespace {

/// The fastest that still counts how often a byte occurs, which is all there is to find.
constexpr int level = 1;

/// Byte p of number i goes to place p * numbers + i.
template <int width>
void sortBytes(const std::byte* from, std::byte* to, std::size_t numbers) {
  for (std::size_t i = 0; i < numbers; ++i)
    for (int p = 0; p < width; ++p) to[static_cast<std::size_t>(p) * numbers + i] = from[i * width + p];
}
template <int width>
void unsortBytes(const std::byte* from, std::byte* to, std::size_t numbers) {
  for (std::size_t i = 0; i < numbers; ++i)
    for (int p = 0; p < width; ++p) to[i * width + p] = from[static_cast<std::size_t>(p) * numbers + i];
}

/// Calls with the width as a constant.
template <class Call>
void withWidth(int width, const Call& call) {
  switch (width) {
  case 2:
    return call(std::integral_constant<int, 2>());
  case 4:
    return call(std::integral_constant<int, 4>());
  default:
    assert(width == 1);
    return call(std::integral_constant<int, 1>());
  }
}

void sort(std::span<const std::byte> from, std::byte* to, int width) {
  withWidth(width, [&](auto constant) { sortBytes<constant()>(from.data(), to, from.size() / constant()); });
  const std::size_t whole = from.size() / static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
  std::memcpy(to + whole, from.data() + whole, from.size() - whole);
}

void unsort(const std::byte* from, std::span<std::byte> to, int width) {
  withWidth(width, [&](auto constant) { unsortBytes<constant()>(from, to.data(), to.size() / constant()); });
  const std::size_t whole = to.size() / static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
  std::memcpy(to.data() + whole, from + whole, to.size() - whole);
}

} // namespace

struct GranuleCodec::Contexts {
  Contexts() : in(ZSTD_createCCtx()), out(ZSTD_createDCtx()) {
    if (in && out) return;
    ZSTD_freeCCtx(in);
    ZSTD_freeDCtx(out);
    throw std::bad_alloc();
  }
  ~Contexts() {
    ZSTD_freeCCtx(in);
    ZSTD_freeDCtx(out);
  }
  ZSTD_CCtx* in;
  ZSTD_DCtx* out;
};

GranuleCodec::GranuleCodec() : m_contexts(std::make_unique<Contexts>()) {}
GranuleCodec::~GranuleCodec() = default;

Bytes GranuleCodec::compress(std::span<std::byte> contents, int width, Bytes most) {
  assert(most <= static_cast<Bytes>(contents.size()));
  if (most <= 0) return 0;
  m_sorted.resize(std::max(m_sorted.size(), contents.size()));
  sort(contents, m_sorted.data(), width);
  const std::size_t stored = ZSTD_compressCCtx(m_contexts->in, contents.data(), static_cast<std::size_t>(most),
                                               m_sorted.data(), contents.size(), level);
  if (!ZSTD_isError(stored)) return static_cast<Bytes>(stored);
  unsort(m_sorted.data(), contents, width); // the part that fitted has been written over it
  return 0;
}

bool GranuleCodec::expand(std::span<std::byte> contents, int width, Bytes stored) {
  assert(stored <= static_cast<Bytes>(contents.size()));
  m_sorted.resize(std::max(m_sorted.size(), contents.size()));
  const std::size_t bytes = ZSTD_decompressDCtx(m_contexts->out, m_sorted.data(), contents.size(), contents.data(),
                                                static_cast<std::size_t>(stored));
  if (bytes != contents.size()) return false; // an error is a number larger than any
  unsort(m_sorted.data(), contents, width);
  return true;
}

} // namespace millrace

// GranuleCodec: numbers made smaller without loss. Their bytes are sorted by place, so that signs and exponents, which
// are much alike, stand together and zstd finds something in them; the low bits of a mantissa are noise and stay as
// they are. Works in place, for which it has memory of its own. One thread at a time.
#pragma once

#include "base/units.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace millrace {

class GranuleCodec {
 public:
  GranuleCodec();
  ~GranuleCodec();
  GranuleCodec(const GranuleCodec&) = delete;
  GranuleCodec& operator=(const GranuleCodec&) = delete;

  /// width: bytes that a number in `contents` takes, 1, 2 or 4; any other reading of the bytes only makes them larger.
  /// Returns the bytes at the beginning of contents that now stand for all of it, at most `most`; 0: so few would not
  /// do, and contents are what they were.
  Bytes compress(std::span<std::byte> contents, int width, Bytes most);
  /// Brings back contents of which compress() left `stored` bytes. False: they are not its; contents are then of no
  /// use. Whatever the bytes, nothing beyond contents is touched.
  bool expand(std::span<std::byte> contents, int width, Bytes stored);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> m_contexts;
  std::vector<std::byte> m_sorted;
};

} // namespace millrace

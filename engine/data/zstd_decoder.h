// Zstandard data decoded as it comes: any number of frames behind one another, skippable ones too, in bounded memory
// whatever the data says. One thread.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <cstddef>
#include <memory>
#include <span>

struct ZSTD_DCtx_s;

namespace millrace {

class ZstdDecoder {
 public:
  /// A frame that needs more memory than this to be decoded (zstd --long=28 and above) is refused.
  static constexpr Bytes largestWindow = 128 * MiB;
  /// Data that expands beyond this is refused when it became so many times what it was: text does not.
  static constexpr Bytes freeExpansion = GiB;
  static constexpr Bytes mostExpansion = 1024;

  ZstdDecoder();
  ~ZstdDecoder();
  ZstdDecoder(ZstdDecoder&&) noexcept;
  ZstdDecoder& operator=(ZstdDecoder&&) noexcept;

  /// Takes from the front of `input` and writes to the front of `output`, and shortens both by what was taken and
  /// written. Goes on as long as both have room, unless it fails: BadInput that says what is wrong, at which byte of
  /// all input so far, and what to do.
  Status decode(std::span<const std::byte>& input, std::span<std::byte>& output);
  /// BadInput when the input ended inside a frame.
  Status finish() const;

 private:
  tl::unexpected<Error> fault(std::size_t code) const;

  std::unique_ptr<ZSTD_DCtx_s, std::size_t (*)(ZSTD_DCtx_s*)> m_context;
  Bytes m_taken = 0;
  Bytes m_written = 0;
  Bytes m_frameStart = 0; ///< in the input
  bool m_inFrame = false;
};

} // namespace millrace

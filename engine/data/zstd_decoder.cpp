#include "data/zstd_decoder.h"

#include <bit>
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace millrace {

ZstdDecoder::ZstdDecoder() : m_context(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
  if (!m_context) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(m_context.get(), ZSTD_d_windowLogMax,
                         std::countr_zero(static_cast<std::uint64_t>(largestWindow)));
}
ZstdDecoder::~ZstdDecoder() = default;
ZstdDecoder::ZstdDecoder(ZstdDecoder&&) noexcept = default;
ZstdDecoder& ZstdDecoder::operator=(ZstdDecoder&&) noexcept = default;

tl::unexpected<Error> ZstdDecoder::fault(std::size_t code) const {
  switch (ZSTD_getErrorCode(code)) {
  case ZSTD_error_frameParameter_windowTooLarge:
    return badInput(fmt::format("the zstd frame at byte {} needs more than {} to be decoded; compress it again without "
                                "--long: zstd -dc --long=31 IN.zst | zstd -o OUT.zst",
                                m_frameStart, formatBytes(largestWindow)));
  case ZSTD_error_prefix_unknown:
    return badInput(fmt::format("no zstd frame begins at byte {}, where one is expected{}", m_frameStart,
                                m_frameStart == 0 ? "; it is not compressed with zstd, whatever its name says" : ""));
  case ZSTD_error_dictionary_wrong:
    return badInput(fmt::format("the zstd frame at byte {} needs a dictionary; compress it again without one: zstd -dc "
                                "-D DICTIONARY IN.zst | zstd -o OUT.zst",
                                m_frameStart));
  default:
    return badInput(
        fmt::format("damaged at about byte {}, in the zstd frame that begins at byte {} ({}); fetch or make "
                    "it again",
                    m_taken, m_frameStart, ZSTD_getErrorName(code)));
  }
}

Status ZstdDecoder::decode(std::span<const std::byte>& input, std::span<std::byte>& output) {
  // Between two frames, and without the beginning of one, there is nothing to decode.
  while (!output.empty() && (m_inFrame || !input.empty())) {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const std::size_t left = ZSTD_decompressStream(m_context.get(), &out, &in);
    m_taken += static_cast<Bytes>(in.pos);
    m_written += static_cast<Bytes>(out.pos);
    if (ZSTD_isError(left)) return fault(left);
    input = input.subspan(in.pos);
    output = output.subspan(out.pos);
    m_inFrame = left != 0;
    if (!m_inFrame) m_frameStart = m_taken;
    if (m_written > freeExpansion && m_written / mostExpansion > m_taken)
      return badInput(
          fmt::format("{} of zstd data became more than {}, which no text does; if it is meant to, decompress "
                      "it first: zstd -d IN.zst",
                      formatBytes(m_taken), formatBytes(m_written)));
    if (in.pos == 0 && out.pos == 0) break; // waits for input
  }
  return {};
}

Status ZstdDecoder::finish() const {
  if (!m_inFrame) return {};
  return badInput(
      fmt::format("cut off: it ends at byte {}, inside the zstd frame that begins at byte {}; fetch or make "
                  "it again",
                  m_taken, m_frameStart));
}

} // namespace millrace

// The file of a TokenShard, little endian: a header of 64 bytes; token ids, 2 or 4 bytes each; 32 bytes per document; 8
// per range of tokens that are learnt; the names of sets, each a 32-bit length and its bytes; a footer with counts, the
// key, the XXH3-128 of all before it, and its own XXH3-64.
#pragma once

#include "base/hash.h"
#include "base/units.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace millrace::shard_format {

constexpr std::array<char, 8> headerMagic = {'M', 'R', 'T', 'O', 'K', 'E', 'N', 'S'};
constexpr std::array<char, 8> footerMagic = {'M', 'R', 'T', 'O', 'K', 'E', 'N', 'D'};
constexpr std::uint32_t version = 2;
constexpr Bytes pieceSize = 4 * MiB; ///< what is read, checked and written at once

struct Header {
  std::array<char, 8> magic = headerMagic;
  std::uint32_t version = shard_format::version;
  std::uint32_t tokenBytes = 0;
  std::array<std::uint64_t, 6> reserved = {};
};
static_assert(sizeof(Header) == 64 && std::is_trivially_copyable_v<Header>);

struct Footer {
  std::array<char, 8> magic = footerMagic;
  std::uint32_t version = shard_format::version;
  std::uint32_t tokenBytes = 0;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
  std::uint64_t ranges = 0;
  std::uint64_t nameBytes = 0; ///< of all names with their lengths
  std::uint64_t index = 0;     ///< of the shard in its series
  std::uint64_t last = 0;      ///< 1: no shard follows
  std::uint64_t nextFile = 0;
  std::uint64_t nextRecord = 0;
  std::uint64_t badRows = 0;
  std::uint64_t emptyDocuments = 0;
  std::uint64_t repairedSequences = 0;
  std::uint64_t otherSets = 0;
  std::uint64_t truncated = 0;
  std::uint64_t split = 0;
  std::uint64_t dropped = 0;
  std::uint64_t nothingLearnt = 0;
  std::array<char, 32> key = {};
  std::array<char, 32> checksum = {};
  std::uint64_t ownHash = 0;
};
static_assert(sizeof(Footer) == 216 && std::is_trivially_copyable_v<Footer>);

template <class Value>
std::string_view rawBytes(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::uint64_t hashOf(const Footer& footer) {
  return hash64(rawBytes(footer).substr(0, sizeof(Footer) - sizeof footer.ownHash));
}

template <std::size_t N>
std::string text(const std::array<char, N>& characters) {
  return std::string(characters.data(), N);
}

inline int tokenBytesFor(std::int64_t vocabularySize) {
  return vocabularySize <= 65536 ? 2 : 4;
}

} // namespace millrace::shard_format

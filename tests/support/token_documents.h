// Documents of token ids, and shards of them, for the tests of data.
#pragma once

#include "base/random.h"
#include "data/token_shard_writer.h"

#include <string>
#include <vector>

namespace millrace::test {

constexpr std::int64_t documentVocabulary = 1000;

struct TokenDocument {
  std::vector<std::int32_t> ids;
  DocumentFacts facts;
};

inline std::string shardKey(char digit = 'a') {
  return std::string(32, digit);
}

/// Of random lengths and ids; every third learns from some ranges alone, the sets go round.
inline std::vector<TokenDocument> randomDocuments(std::size_t count, std::uint64_t seed, std::int64_t longest = 40,
                                                  std::size_t sets = 1) {
  Random random(seed, "documents");
  std::vector<TokenDocument> documents(count);
  for (std::size_t i = 0; i < count; ++i) {
    TokenDocument& document = documents[i];
    const auto length = static_cast<std::uint32_t>(1 + random.below(static_cast<std::uint64_t>(longest)));
    for (std::uint32_t t = 0; t < length; ++t)
      document.ids.push_back(static_cast<std::int32_t>(random.below(documentVocabulary)));
    document.facts.hash = random.next();
    document.facts.textBytes = length * 3;
    document.facts.set = static_cast<std::uint16_t>(i % sets);
    if (i % 3 == 2) {
      document.facts.wholeLearnt = false;
      for (std::uint32_t begin = static_cast<std::uint32_t>(random.below(4)); begin < length;) {
        const auto end = std::min(length, begin + 1 + static_cast<std::uint32_t>(random.below(5)));
        document.facts.learnt.push_back({begin, end});
        begin = end + 1 + static_cast<std::uint32_t>(random.below(5));
      }
    }
  }
  return documents;
}

inline Status writeShard(FileSystem& files, const Path& path, const std::vector<TokenDocument>& documents,
                         const ShardPlace& place = {}, const std::vector<std::string>& sets = {""},
                         std::int64_t vocabulary = documentVocabulary) {
  MILLRACE_TRY(TokenShardWriter writer, TokenShardWriter::create(files, path, shardKey(), vocabulary));
  for (const TokenDocument& document : documents) {
    MILLRACE_CHECK(writer.append(document.ids));
    writer.endDocument(document.facts);
  }
  return writer.finish(place, sets);
}

inline Result<std::shared_ptr<const TokenShard>> openShard(FileSystem& files, const Path& path,
                                                           std::int64_t vocabulary = documentVocabulary) {
  return TokenShard::open(files, path, shardKey(), vocabulary);
}

} // namespace millrace::test

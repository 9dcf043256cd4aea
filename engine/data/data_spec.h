// What data a run trains on, as plain values.
#pragma once

#include "base/file.h"
#include "data/data_progress.h"
#include "data/token_shard.h"
#include "engine/chat.h"
#include "engine/project.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// What is made of the records of a source.
struct SourceFormat {
  DataFormat format = DataFormat::Auto;
  std::string textField = "text"; ///< Jsonl
  std::string separator;          ///< Text: the line between two documents; empty: none
  std::vector<std::string> sets;  ///< rows: only those whose meta.pile_set_name is one of these; empty: all
};

/// One place where documents come from.
struct SourcePattern {
  std::string path; ///< a file, a folder (searched through), or a pattern with * ? [] and ** for any depth
  SourceFormat how = {};
  std::size_t part = 0; ///< which part of a mixture it belongs to
};

/// How conversations become tokens.
struct ChatSpec {
  ChatTemplateChoice chatTemplate; ///< none: conversations are refused
  LearnFrom learn = LearnFrom::Assistant;
  OverLong overLong = OverLong::Truncate;
  std::int64_t context = 1024; ///< tokens; longer conversations are over-long
};

struct DataSpec {
  std::vector<SourcePattern> sources;
  ChatSpec chat;
  /// By part of the mixture: the share of tokens that is drawn from it, in proportion to the others'. Empty: all
  /// sources are one, in proportion to their sizes.
  std::vector<double> weights;
  double validationFraction = 0.01; ///< share of documents that is held back, by the hash of their text
  Path cacheDirectory;              ///< where tokenized data is kept
  std::int64_t badRowLimit = 100;   ///< more unusable rows than this end the preparation
  /// The token behind each document; without it Tokenizer::endOfText().
  std::optional<std::int32_t> endOfText;
  ShardLimits shards; ///< decides the order of batches
};

} // namespace millrace

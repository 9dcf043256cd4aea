// What data a run trains on, as plain values; and what is told while it is prepared.
#pragma once

#include "base/file.h"
#include "engine/chat.h"
#include "engine/project.h"

#include <cstdint>
#include <functional>
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
  double validationFraction = 0.01; ///< share of documents that is held back, by the hash of their text
  Path cacheDirectory;              ///< where tokenized data is kept
  std::int64_t badRowLimit = 100;   ///< more unusable rows than this end the preparation
  /// The token behind each document; without it Tokenizer::endOfText().
  std::optional<std::int32_t> endOfText;
};

struct DataProgress {
  enum class Phase {
    Checking,   ///< reading the sources, to tell whether they changed; then the cache
    Tokenizing, ///< documents to tokens
  };
  Phase phase = Phase::Checking;
  Bytes done = 0;
  Bytes total = 0;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
};

/// Called on the preparing thread now and then; false stops with an error of kind Interrupted.
using DataProgressCallback = std::function<bool(const DataProgress&)>;

} // namespace millrace

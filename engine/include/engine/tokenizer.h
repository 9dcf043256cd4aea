// Tokenizers for the programs: one is trained on files, and one at work turns lines of text into ids and back.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct TokenizerTrainingOptions {
  std::vector<Path> data;         ///< files, folders, patterns
  std::string format = "auto";    ///< as data.sources.format of a project; a file without an ending is txt
  std::string separator;          ///< a line of a text file that ends a document; empty: a file is one
  std::string textField = "text"; ///< of each object in a JSON lines file
  std::int64_t vocabulary = 0;    ///< entries, the 256 bytes and special tokens among them
  Bytes byteLimit = GiB;          ///< text beyond this is not looked at
  int threads = 0;                ///< 0: the usable cores
};

struct TokenizerTrainingProgress {
  enum class Phase { Reading, Merging };
  Phase phase = Phase::Reading;
  std::int64_t done = 0; ///< bytes read, or entries learnt
  std::int64_t total = 0;
};

struct TrainedTokenizer {
  std::int64_t vocabulary = 0; ///< fewer than asked for when the text has no more pairs
  std::string fingerprint;
};

/// Trains a byte-level BPE tokenizer and writes its tokenizer.json under the name `out`, atomically. Blocks. progress:
/// false stops with Interrupted. warning: told what was wrong with single rows of the data. Errors: BadInput naming
/// file, line and reason.
Result<TrainedTokenizer> trainTokenizerFile(FileSystem& files, const TokenizerTrainingOptions& options, const Path& out,
                                            const std::function<bool(const TokenizerTrainingProgress&)>& progress = {},
                                            const std::function<void(std::string_view)>& warning = {});

/// A tokenizer.json at work. Immutable; any thread.
class TextCodec {
 public:
  static Result<TextCodec> open(FileSystem& files, const Path& tokenizer);
  ~TextCodec();
  TextCodec(TextCodec&&) noexcept;
  TextCodec& operator=(TextCodec&&) noexcept;

  /// special: with what the tokenizer puts around a text.
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool special) const;
  /// special: control tokens are spelled out. Ids without a token are an error.
  Result<std::string> decode(std::span<const std::int32_t> ids, bool special) const;

  /// A JSON string to {"ids":[...]}. source names the line in errors.
  Result<std::string> encodeLine(std::string_view line, bool special, const std::string& source) const;
  /// {"ids":[...]}, or a plain list, to a JSON string.
  Result<std::string> decodeLine(std::string_view line, bool special, const std::string& source) const;
  /// Ids written in decimal with white space or commas between them.
  Result<std::string> decodeText(std::string_view ids, bool special, const std::string& source) const;

 private:
  struct Implementation;
  explicit TextCodec(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace

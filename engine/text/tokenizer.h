// Tokenizer: text to token ids and back, as a Hugging Face tokenizer.json describes it, with equal ids. Immutable once
// loaded; every const function may be called from any thread at once.
//
// `truncation` and `padding` of the file are ignored: they belong to batches, not to the tokenizer.
#pragma once

#include "base/file.h"
#include "base/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class Tokenizer {
 public:
  /// Reads a tokenizer.json; errors name the file and the component or key.
  static Result<Tokenizer> load(FileSystem& files, const Path& path);
  /// The same from text; source names it in errors.
  static Result<Tokenizer> parse(std::string_view json, const std::string& source);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// Ids of a text. Control tokens spelled out in the text are found, as Hugging Face does. addSpecial: with what the
  /// post-processor puts around a text. Bytes that are not UTF-8 count as U+FFFD. Fails for texts of 1 GiB and more,
  /// and when the file's regular expressions cannot cope with the text.
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool addSpecial) const;
  /// The same, appended to ids (which are as before after a failure).
  Status encode(std::string_view text, bool addSpecial, std::vector<std::int32_t>& ids) const;

  /// The ids of a text without anything put around it, appended as by encode(), and where places of the text fall among
  /// them: before[i] is how many of the new ids begin before byte cuts[i]. A token that a place lies inside of begins
  /// before it. cuts ascend; text is valid UTF-8. Exact unless a normalizer changes characters right at a place.
  Status encodeCut(std::string_view text, std::span<const std::size_t> cuts, std::vector<std::int32_t>& ids,
                   std::vector<std::size_t>& before) const;

  /// Text of ids, always valid UTF-8; ids without a token are passed over. skipSpecial: without control tokens.
  std::string decode(std::span<const std::int32_t> ids, bool skipSpecial) const;

  /// One more than the largest id: the rows that an embedding needs.
  std::int64_t vocabularySize() const;
  std::optional<std::int32_t> idOf(std::string_view token) const;
  /// The token as the file spells it; nothing for ids without one.
  std::optional<std::string_view> token(std::int32_t id) const;
  bool isSpecial(std::int32_t id) const;
  /// Bytes of text that the token stands for: exact in byte-level files, and elsewhere apart from a space that the file
  /// adds before the first word. 0 for control tokens.
  std::int32_t tokenBytes(std::int32_t id) const;
  /// The token that ends a document, by its customary names (<|endoftext|>, </s>, ...); tokenizer.json itself does not
  /// say.
  std::optional<std::int32_t> endOfText() const;
  std::optional<std::int32_t> beginOfText() const;

  /// XXH3-128 of the file's text: what caches of tokenized data are keyed by.
  const std::string& fingerprint() const;
  /// Whether text may be encoded in parts cut behind single line feeds between two characters that are no white space,
  /// and give the same ids.
  bool worksByLine() const;

 private:
  friend class TextStream;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

} // namespace millrace

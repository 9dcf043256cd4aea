// Normalizers: what a tokenizer does to a text before it is split. Immutable, any thread.
#pragma once

#include "base/json_reader.h"
#include "text/regex.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace {

/// A text while it is normalized.
struct NormalizedText {
  std::string text;      ///< valid UTF-8
  bool atStart = true;   ///< its first character comes from the very first one of the input
  std::size_t given = 0; ///< bytes of the text as it was given
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Rewrites the text in place.
  virtual Status apply(NormalizedText& normalized, RegexScratch& scratch) const = 0;
  /// True when apply() would certainly leave the text as it is; spares a copy. Never wrong, may be too careful.
  virtual bool leavesAlone(std::string_view text) const = 0;
  /// Whether text cut behind a line feed may be normalized part by part.
  virtual bool worksByLine() const = 0;
};

/// Builds what the `normalizer` value of a tokenizer.json describes; null for JSON null. `where` names it in errors.
Result<std::unique_ptr<Normalizer>> makeNormalizer(const Json& description, const std::string& where);

} // namespace millrace

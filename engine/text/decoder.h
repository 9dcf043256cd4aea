// Decoders: how tokens become text again. Immutable, any thread.
#pragma once

#include "base/json_reader.h"

#include <memory>
#include <string>
#include <vector>

namespace millrace {

class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Rewrites the tokens' texts; their concatenation after the last decoder is the text.
  virtual void apply(std::vector<std::string>& tokens) const = 0;
  /// Whether it is the byte-level alphabet and nothing else, so that each token stands for its own bytes.
  virtual bool isByteLevel() const { return false; }
  /// Whether <0xNN> tokens are bytes of the text.
  virtual bool hasByteFallback() const { return false; }
};

/// Builds what the `decoder` value of a tokenizer.json describes; null for JSON null.
Result<std::unique_ptr<Decoder>> makeDecoder(const Json& description, const std::string& where);

/// The byte that a <0xNN> token stands for, or -1.
int byteOfFallbackToken(std::string_view token);

} // namespace millrace

// Text of tokens that arrive one by one, for showing a generation as it grows. One thread.
#pragma once

#include "text/tokenizer.h"

namespace millrace {

/// The concatenation of everything returned is Tokenizer::decode of all ids, except that runs of <0xNN> tokens that are
/// not UTF-8 are repaired piece by piece. Every returned text is valid UTF-8.
class TextStream {
 public:
  /// The tokenizer must outlive it.
  TextStream(const Tokenizer& tokenizer, bool skipSpecial) : m_tokenizer(tokenizer), m_skipSpecial(skipSpecial) {}

  /// What follows continues these tokens, of which nothing is returned: some decoders treat a text's first one apart.
  void begin(std::span<const std::int32_t> before);
  /// The text that is certain after this token; may be empty while a character is incomplete.
  std::string push(std::int32_t id);
  /// What is still held back, with U+FFFD for an incomplete character. The stream starts anew.
  std::string finish();

 private:
  bool shows(std::int32_t id) const;
  std::string takeWaiting();

  const Tokenizer& m_tokenizer;
  bool m_skipSpecial;
  std::string m_bytes;                ///< byte-level: not yet returned
  std::vector<std::string> m_shown;   ///< else: the tokens last returned, which decoders may need to see
  std::vector<std::string> m_waiting; ///< and those not yet returned
};

/// The text of the tokens as a continuation of those before.
std::string continuationText(const Tokenizer& tokenizer, std::span<const std::int32_t> before,
                             std::span<const std::int32_t> tokens, bool skipSpecial);

} // namespace millrace

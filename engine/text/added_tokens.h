// Tokens that are found in the text itself, before the model sees it: control tokens and whatever else a file adds.
// Immutable once built, any thread.
#pragma once

#include "text/bpe_model.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;
  bool singleWord = false; ///< only where no word character is beside it
  bool lstrip = false;     ///< takes the white space before it
  bool rstrip = false;     ///< takes the white space behind it
  bool normalized = false; ///< is looked for in the normalized text
};

/// A stretch of text: one added token, or text between them (id -1).
struct TextSection {
  std::int32_t id = -1;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Finds a set of added tokens in a text, leftmost first and of those the longest.
class AddedTokenFinder {
 public:
  /// `as[i]` is the text that tokens[i] is looked for as.
  void add(const AddedToken& token, std::string_view as);
  bool empty() const { return m_patterns.empty(); }
  /// Cuts valid UTF-8 into sections, in order; white space that tokens take belongs to their sections.
  void cut(std::string_view text, std::vector<TextSection>& sections) const;

 private:
  struct Hit {
    const AddedToken* token = nullptr;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  Hit find(std::string_view text, std::size_t from) const;

  TextMap<AddedToken> m_patterns;
  std::array<std::vector<std::size_t>, 256> m_lengths; ///< by first byte: the lengths that occur, longest first
  std::vector<unsigned char> m_firstBytes;
};

} // namespace millrace

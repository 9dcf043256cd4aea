// Pre-tokenizers: how a normalized text is cut into the pieces that the model encodes one by one. Immutable once the
// tokenizer is loaded, any thread.
#pragma once

#include "base/json_reader.h"
#include "text/regex.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Pieces of a text on their way through the pre-tokenizers. Owns what they rewrite; pieces view into it or into the
/// text that the caller keeps alive. One thread.
class PieceList {
 public:
  struct Piece {
    std::string_view text; ///< valid UTF-8, never empty
    bool atStart = false;  ///< begins where the whole input begins
  };

  /// Starts anew with one piece.
  void reset(std::string_view text, bool atStart) {
    m_pieces.clear();
    m_owned.clear();
    if (!text.empty()) m_pieces.push_back({text, atStart});
  }
  const std::vector<Piece>& pieces() const { return m_pieces; }

  /// Replaces every piece by those that cut(piece, out) appends to out.
  template <class Cut>
  Status forEach(Cut&& cut) {
    m_next.clear();
    for (const Piece& piece : m_pieces) MILLRACE_CHECK(cut(piece, m_next));
    m_pieces.swap(m_next);
    return {};
  }
  /// Keeps a rewritten text alive until the next reset.
  std::string_view keep(std::string text) { return m_owned.emplace_back(std::move(text)); }

 private:
  std::vector<Piece> m_pieces;
  std::vector<Piece> m_next;
  std::deque<std::string> m_owned;
};

/// What a pre-tokenizer does where a single line feed stands between two characters that are no white space.
enum class LineCut {
  Breaks, ///< a text cut behind such a line feed may give other pieces than the whole text
  Allows, ///< cutting there adds a piece boundary and changes nothing else
  Cuts,   ///< there is a piece boundary anyway
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(PieceList& list, RegexScratch& scratch) const = 0;
  virtual LineCut lineCut() const = 0;
  /// If the last thing that this does is to write bytes in the byte-level alphabet, stops doing so and returns true:
  /// the model then works on bytes. Called while loading.
  virtual bool leaveBytes() { return false; }
};

/// Builds what the `pre_tokenizer` value of a tokenizer.json describes; null for JSON null.
Result<std::unique_ptr<PreTokenizer>> makePreTokenizer(const Json& description, const std::string& where);

} // namespace millrace

// The parts of a loaded tokenizer. Private to text/.
#pragma once

#include "base/mutex.h"
#include "text/added_tokens.h"
#include "text/bpe_model.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

#include <mutex>

namespace millrace {

/// What one encode call writes to; kept for the next one.
struct EncodeScratch {
  RegexScratch regex;
  BpeScratch bpe;
  PieceList pieces;
  std::vector<TextSection> sections;
  std::vector<TextSection> innerSections;
  NormalizedText normalized;
};

struct Tokenizer::Impl {
  explicit Impl(BpeModel bpe) : model(std::move(bpe)) {}

  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> preTokenizer;
  BpeModel model;
  std::unique_ptr<PostProcessor> postProcessor;
  std::unique_ptr<Decoder> decoder;
  std::vector<AddedToken> added;
  AddedTokenFinder rawTokens;        ///< looked for in the text as it comes
  AddedTokenFinder normalizedTokens; ///< looked for in the normalized text
  std::vector<std::string> tokens;   ///< by id
  std::vector<std::string> shown;    ///< by id: what the decoder sees; added tokens as they are after normalization
  std::vector<bool> present;
  std::vector<bool> special;
  TextMap<std::int32_t> addedIds;
  std::vector<std::string> bytes; ///< by id: what each token stands for, if the decoder is byte-level alone
  bool byteLevelDecoder = false;
  bool worksByLine = false;
  std::string fingerprint;

  static Status checkLength(std::string_view text);
  Status encodeSection(std::string_view text, bool atStart, EncodeScratch& scratch,
                       std::vector<std::int32_t>& ids) const;
  Status encodeText(std::string_view text, EncodeScratch& scratch, std::vector<std::int32_t>& ids) const;
  /// Appends where `cuts` (places of a section between added tokens, ascending) fall among its ids.
  Status cutSection(std::string_view text, bool atStart, std::span<const std::size_t> cuts,
                    std::span<const std::int32_t> ids, std::span<const std::int32_t> widths, EncodeScratch& scratch,
                    std::vector<std::size_t>& before) const;
  /// The decoder's text of these token strings.
  std::string decodeTokens(std::vector<std::string> texts) const;

  /// By id: bytes of text that a token stands for, those of added tokens included. Made when first asked for.
  const std::vector<std::int32_t>& widths(const Tokenizer& tokenizer) const;

  std::unique_ptr<EncodeScratch> takeScratch();
  void giveScratch(std::unique_ptr<EncodeScratch> scratch);

 private:
  Mutex m_mutex;
  std::vector<std::unique_ptr<EncodeScratch>> m_idle MILLRACE_GUARDED_BY(m_mutex);
  mutable std::once_flag m_widthsMade;
  mutable std::vector<std::int32_t> m_widths; ///< written once, within m_widthsMade
};

} // namespace millrace

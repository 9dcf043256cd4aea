// Tokens that somebody added to a trained model's tokenizer need rows that its tables do not have. Pure functions of a
// tokenizer.json.
#pragma once

#include "base/json_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

/// Of a tokenizer.json; the largest that are in use have a tenth of it.
constexpr Bytes maximumTokenizerFile = 256 * MiB;

struct VocabularyGrowth {
  std::int64_t rows = 0;          ///< that the tables should have: at least the model's own
  std::vector<std::string> added; ///< tokens without a row, by id; empty: nothing grows
};

/// tokenizer: the contents of a tokenizer.json; vocabulary: rows of the model. Only added tokens that follow the
/// model's rows without a gap make it grow: a tokenizer whose own entries go beyond them is another model's, and
/// whoever compares the two says so. Errors: BadInput naming the token behind a gap. What is no tokenizer.json grows
/// nothing here.
Result<VocabularyGrowth> vocabularyGrowth(const Json& tokenizer, std::int64_t vocabulary, const std::string& source);

} // namespace millrace

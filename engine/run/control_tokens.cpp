#include "run/control_tokens.h"

#include <algorithm>

namespace millrace {

void nameControlTokens(ModelSpec& spec, const Tokenizer& tokenizer) {
  const auto isControl = [&](std::int64_t id) { return tokenizer.isSpecial(static_cast<std::int32_t>(id)); };
  if (spec.bosToken && !isControl(*spec.bosToken)) spec.bosToken = tokenizer.beginOfText();
  if (std::all_of(spec.eosTokens.begin(), spec.eosTokens.end(), isControl) && !spec.eosTokens.empty()) return;
  spec.eosTokens.clear();
  if (const auto end = tokenizer.endOfText()) spec.eosTokens.push_back(*end);
}

} // namespace millrace

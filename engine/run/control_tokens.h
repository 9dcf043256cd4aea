// The begin and end tokens that a model's config.json names.
#pragma once

#include "model/model_spec.h"
#include "text/tokenizer.h"

namespace millrace {

/// A config that names no begin and end tokens has its family's customary ids, which in another tokenizer are letters:
/// programs that read what was saved would stop at them. Ids that are no control tokens of the tokenizer give way to
/// those that are.
void nameControlTokens(ModelSpec& spec, const Tokenizer& tokenizer);

} // namespace millrace

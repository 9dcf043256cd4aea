// What is told of a model that was loaded and of a text that it made.
#pragma once

#include "bridge/text_model.h"

#include <QString>

namespace millrace::ui {

/// "Step 1,200 is loaded: 12.3 MiB on NVIDIA H200, 4.00 MiB of host memory; room for 2,048 tokens."
QString loadedText(const LoadedModel& loaded);
/// "23 tokens, 19.1 tokens/s; prompt of 14 tokens in 0.10 s; the model ended the text"
QString generatedText(const GeneratedText& text);
/// "23 tokens, 19.1 tokens/s"; without a pace where that is 0.
QString paceText(qint64 tokens, double tokensPerSecond);

} // namespace millrace::ui

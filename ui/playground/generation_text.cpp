#include "playground/generation_text.h"

#include "bridge/text.h"
#include "style/numbers.h"

#include <QCoreApplication>
#include <QStringList>

namespace millrace::ui {

namespace {

struct GenerationText {
  Q_DECLARE_TR_FUNCTIONS(GenerationText)
};

QString endText(StopReason reason) {
  switch (reason) {
  case StopReason::EndOfText:
    return GenerationText::tr("the model ended the text");
  case StopReason::StopText:
    return GenerationText::tr("a stop text ended it");
  case StopReason::Length:
    return GenerationText::tr("as long as asked for");
  case StopReason::ContextFull:
    return GenerationText::tr("the context is full: clear it, shorten the prompt, or load with a longer context");
  case StopReason::Stopped:
    break;
  }
  return GenerationText::tr("stopped");
}

QString tokensText(qint64 tokens) {
  return tokens == 1 ? GenerationText::tr("1 token") : GenerationText::tr("%1 tokens").arg(countText(tokens));
}

} // namespace

QString loadedText(const LoadedModel& loaded) {
  const GeneratorMemory& memory = loaded.memory;
  const QString name =
      loaded.step ? GenerationText::tr("Step %1").arg(countText(*loaded.step)) : toQt(loaded.folder.filename());
  const QString where =
      memory.device == "cpu"
          ? GenerationText::tr("%1 of host memory, on the CPU").arg(bytesText(memory.deviceBytes + memory.hostBytes))
          : GenerationText::tr("%1 on %2, %3 of host memory")
                .arg(bytesText(memory.deviceBytes), toQt(memory.device), bytesText(memory.hostBytes));
  return GenerationText::tr("%1 is loaded: %2; room for %3.").arg(name, where, tokensText(memory.tokens));
}

QString paceText(qint64 tokens, double tokensPerSecond) {
  if (tokensPerSecond <= 0) return tokensText(tokens);
  return GenerationText::tr("%1, %2 tokens/s").arg(tokensText(tokens), shortCountText(tokensPerSecond));
}

QString generatedText(const GeneratedText& text) {
  // The first token is the prompt's work.
  const double pace =
      text.tokens > 1 && text.generateSeconds > 0 ? static_cast<double>(text.tokens - 1) / text.generateSeconds : 0;
  return GenerationText::tr("%1; prompt of %2 in %3; %4")
      .arg(paceText(text.tokens, pace), tokensText(text.promptTokens), durationText(text.promptSeconds),
           endText(text.stop));
}

} // namespace millrace::ui

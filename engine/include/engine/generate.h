// Text from a trained model: TextGenerator continues a prompt, a piece at a time.
#pragma once

#include "base/result.h"
#include "engine/compute_options.h"
#include "engine/model_choice.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct GenerateOptions {
  ComputeOptions compute;
  /// Tokens that prompt and continuation may have together, at most what the model was made for. 0: as many as a
  /// generation asks for; memory is then taken with the first one, and anew when a later one needs more.
  std::int64_t context = 0;
  std::int64_t prefill = 128; ///< tokens of the prompt that are computed at once
  /// Told on the calling thread while weights are read, in parameters; false gives up with Interrupted.
  std::function<bool(std::int64_t done, std::int64_t total)> loading = {};
};

/// What an open model has taken. All zero before its weights are read.
struct GeneratorMemory {
  std::string device;      ///< that computes: "cpu", "NVIDIA H200"
  Bytes deviceBytes = 0;   ///< of the device's memory: on the CPU a part of the host's
  Bytes hostBytes = 0;     ///< besides
  std::int64_t tokens = 0; ///< that there is room for, prompt and continuation together
};

struct SamplingOptions {
  std::int64_t tokens = 128; ///< new ones, at most
  double temperature = 0.8;  ///< 0: always the likeliest token
  std::int64_t topK = 0;     ///< candidates kept; 0: all
  double topP = 0.95;        ///< probability mass kept; 1: all
  std::uint64_t seed = 1;
  /// Texts that end it, each at least one byte: what is generated goes up to the first of them and leaves it out. That
  /// of a control token stands for the token.
  std::vector<std::string> stop = {};
  /// The prompt spells out its own control tokens, as a rendered chat does: nothing is put around it.
  bool promptIsWhole = false;
};

enum class StopReason {
  EndOfText, ///< the model produced the tokenizer's end-of-text token, or a control token that one of its configs names
  StopText,  ///< one of the texts that were to end it
  Length,    ///< as many tokens as asked for
  ContextFull, ///< the context has no room for more; nothing is dropped to make some
  Stopped,     ///< the caller said so
};
/// "end of text", "stop text", "length", "context full", "stopped".
std::string_view toString(StopReason reason);

struct GeneratedText {
  std::string text; ///< without the prompt; always valid UTF-8
  std::int64_t promptTokens = 0;
  std::int64_t tokens = 0;
  StopReason stop = StopReason::Length;
  double promptSeconds = 0;   ///< until the first token was known, loading aside
  double generateSeconds = 0; ///< for those after it
};

/// One thread at a time.
class TextGenerator {
 public:
  /// Errors: BadInput for what is no usable model with a tokenizer; DoesNotFit; Interrupted.
  static Result<TextGenerator> open(FileSystem& files, const ModelChoice& choice, const GenerateOptions& options);
  ~TextGenerator();
  TextGenerator(TextGenerator&&) noexcept;
  TextGenerator& operator=(TextGenerator&&) noexcept;

  /// Continues the prompt; an empty one begins a text (with the tokenizer's begin-of-text token, else its end-of-text
  /// token). The same model, options, threads or not, and seed give the same text. piece: text as it becomes certain
  /// (what may be the beginning of a stop text waits), valid UTF-8 each, all together the result's text; false stops.
  /// counted: new tokens so far, after each of them and, with 0, between the parts of the prompt; false stops.
  /// Errors: BadInput for options out of range and for a prompt that is longer than the context; Failed when the
  /// model's output is not finite.
  Result<GeneratedText> generate(std::string_view prompt, const SamplingOptions& options,
                                 const std::function<bool(std::string_view)>& piece = {},
                                 const std::function<bool(std::int64_t)>& counted = {});

  /// What is worth telling about the model that was opened.
  const std::vector<std::string>& warnings() const;
  /// The folder that the weights come from.
  const Path& folder() const;
  /// Of a checkpoint: the step that it was saved after.
  std::optional<std::int64_t> step() const;
  /// Tokens that prompt and continuation may have together.
  std::int64_t contextLimit() const;
  GeneratorMemory memory() const;

 private:
  struct Implementation;
  explicit TextGenerator(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace

#include "engine/generate.h"

#include "api/inference_engine.h"
#include "api/stop_strings.h"
#include "text/text_stream.h"
#include "train/generator.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace millrace {

namespace {

StopReason reasonOf(GenerationEnd end) {
  switch (end) {
  case GenerationEnd::EndOfText:
    return StopReason::EndOfText;
  case GenerationEnd::ContextFull:
    return StopReason::ContextFull;
  case GenerationEnd::Stopped:
    return StopReason::Stopped;
  case GenerationEnd::Length:
    break;
  }
  return StopReason::Length;
}

} // namespace

std::string_view toString(StopReason reason) {
  switch (reason) {
  case StopReason::EndOfText:
    return "end of text";
  case StopReason::StopText:
    return "stop text";
  case StopReason::Length:
    return "length";
  case StopReason::ContextFull:
    return "context full";
  case StopReason::Stopped:
    return "stopped";
  }
  return "unknown";
}

struct TextGenerator::Implementation {
  Implementation(SavedModel model, Tokenizer words, const GenerateOptions& settings)
      : source(std::move(model)), tokenizer(std::move(words)), options(settings) {
    const ModelSpec& spec = source.spec();
    limit = options.context > 0 ? std::min(options.context, spec.maxPositions) : spec.maxPositions;
    // Configs that name no end token have their family's customary one by default, which in another tokenizer is a
    // letter: it counts only where it is a control token.
    for (const std::int64_t id : spec.eosTokens)
      if (tokenizer.isSpecial(static_cast<std::int32_t>(id))) endTokens.push_back(static_cast<std::int32_t>(id));
    for (const std::int32_t id : source.endTokens())
      if (tokenizer.isSpecial(id)) endTokens.push_back(id);
    if (const auto end = tokenizer.endOfText()) endTokens.push_back(*end);
  }

  /// An engine whose cache holds at least this many tokens.
  Status prepare(std::int64_t tokens) {
    if (engine && engine->runner().shape().cacheTokens >= tokens) return {};
    engine.reset(); // its memory is needed for the new one
    InferenceEngine::Shape shape;
    shape.cacheTokens = options.context > 0 ? limit : std::min(limit, (tokens + 63) / 64 * 64);
    shape.context = std::min(options.prefill, shape.cacheTokens);
    shape.headChunk = 1;
    MILLRACE_TRY(engine, InferenceEngine::create(source, options.compute, shape, options.loading));
    return {};
  }

  Result<std::vector<std::int32_t>> encode(std::string_view prompt, bool whole) const {
    MILLRACE_TRY(std::vector<std::int32_t> ids, tokenizer.encode(prompt, !whole));
    if (!ids.empty()) return ids;
    if (const auto begin = tokenizer.beginOfText()) return std::vector<std::int32_t>{*begin};
    if (const auto end = tokenizer.endOfText()) return std::vector<std::int32_t>{*end};
    return badInput("the prompt is empty, and the tokenizer has no token that begins a text; give a prompt");
  }

  SavedModel source;
  Tokenizer tokenizer;
  GenerateOptions options;
  std::int64_t limit = 0; ///< tokens of prompt and continuation
  std::vector<std::int32_t> endTokens;
  std::optional<InferenceEngine> engine;
};

TextGenerator::TextGenerator(std::unique_ptr<Implementation> implementation)
    : m_implementation(std::move(implementation)) {}
TextGenerator::~TextGenerator() = default;
TextGenerator::TextGenerator(TextGenerator&&) noexcept = default;
TextGenerator& TextGenerator::operator=(TextGenerator&&) noexcept = default;

const std::vector<std::string>& TextGenerator::warnings() const {
  return m_implementation->source.warnings();
}

const Path& TextGenerator::folder() const {
  return m_implementation->source.folder();
}

std::optional<std::int64_t> TextGenerator::step() const {
  return m_implementation->source.step();
}

std::int64_t TextGenerator::contextLimit() const {
  return m_implementation->limit;
}

GeneratorMemory TextGenerator::memory() const {
  if (!m_implementation->engine) return {};
  InferenceEngine& engine = *m_implementation->engine;
  const MemoryPlan& plan = engine.runner().plan();
  return {engine.device().name(), plan.total(MemoryTier::Device), plan.total(MemoryTier::Host), plan.shape.cacheTokens};
}

Result<TextGenerator> TextGenerator::open(FileSystem& files, const ModelChoice& choice,
                                          const GenerateOptions& options) {
  if (options.context < 0) return badInput(fmt::format("context is {}, expected 0 or more", options.context));
  if (options.prefill < 1) return badInput(fmt::format("prefill is {}, expected 1 or more", options.prefill));
  try {
    MILLRACE_TRY(SavedModel source, SavedModel::open(files, choice));
    MILLRACE_TRY(Tokenizer tokenizer, source.tokenizer());
    auto implementation = std::make_unique<Implementation>(std::move(source), std::move(tokenizer), options);
    if (options.context > 0) MILLRACE_CHECK(implementation->prepare(implementation->limit));
    return TextGenerator(std::move(implementation));
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

Result<GeneratedText> TextGenerator::generate(std::string_view prompt, const SamplingOptions& options,
                                              const std::function<bool(std::string_view)>& piece,
                                              const std::function<bool(std::int64_t)>& counted) {
  Implementation& self = *m_implementation;
  if (options.tokens < 1) return badInput(fmt::format("tokens is {}, expected 1 or more", options.tokens));
  GenerationRequest request;
  request.sampling = {options.temperature, options.topK, options.topP};
  MILLRACE_CHECK(checkSampler(request.sampling));
  MILLRACE_TRY(StopStrings stops, StopStrings::create(options.stop));
  try {
    MILLRACE_TRY(const std::vector<std::int32_t> ids, self.encode(prompt, options.promptIsWhole));
    const auto length = static_cast<std::int64_t>(ids.size());
    if (length > self.limit)
      return badInput(fmt::format("the prompt has {} tokens, and {} fit into the {}; shorten the prompt{}", length,
                                  self.limit, self.limit == self.source.spec().maxPositions ? "model" : "context",
                                  self.limit == self.source.spec().maxPositions ? "" : " or allow a longer context"));
    MILLRACE_CHECK(self.prepare(std::min(self.limit, length + std::min(options.tokens, self.limit))));

    request.prompt = ids;
    request.tokens = options.tokens;
    std::vector<std::int32_t> endTokens = self.endTokens;
    for (const std::string& text : options.stop)
      if (const auto id = self.tokenizer.idOf(text); id && self.tokenizer.isSpecial(*id)) endTokens.push_back(*id);
    request.endTokens = endTokens;
    request.seed = options.seed;
    if (counted) request.betweenParts = [&] { return counted(0); };
    GeneratedText generated;
    TextStream stream(self.tokenizer, true);
    stream.begin(ids);
    const auto emit = [&](const std::string& text) {
      generated.text += text;
      return (text.empty() || !piece || piece(text)) && !stops.found();
    };
    Generator generator(self.engine->runner());
    std::int64_t tokens = 0;
    const auto take = [&](std::int32_t token) {
      const bool goOn = emit(stops.push(stream.push(token)));
      return (!counted || counted(++tokens)) && goOn;
    };
    MILLRACE_TRY(const GenerationResult result, generator.generate(request, take));
    if (!stops.found()) (void)emit(stops.push(stream.finish()));
    if (!stops.found()) (void)emit(stops.finish());
    generated.promptTokens = length;
    generated.tokens = result.tokens;
    generated.stop = stops.found() ? StopReason::StopText : reasonOf(result.end);
    generated.promptSeconds = result.promptSeconds;
    generated.generateSeconds = result.generateSeconds;
    return generated;
  } catch (const EngineException& problem) {
    self.engine.reset(); // a device that failed is of no further use
    return tl::unexpected<Error>(problem.error());
  }
}

} // namespace millrace

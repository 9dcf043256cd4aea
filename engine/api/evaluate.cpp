#include "engine/evaluate.h"

#include "api/inference_engine.h"
#include "run/run_preparation.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include "train/evaluator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace millrace {

namespace {

/// What is read, and in rows of how many tokens.
struct EvaluationSetup {
  DataSpec data;
  std::int64_t context = 0;
  bool whole = false; ///< all documents, not those held back
};

Result<EvaluationSetup> setupOf(const Project& project) {
  return EvaluationSetup{dataSpecOf(project), project.training.context, false};
}

Result<EvaluationSetup> setupOfRun(FileSystem& files, const Path& model) {
  Path run = std::filesystem::absolute(model).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  if (!isRun(files, run)) run = run.parent_path().parent_path(); // of run/checkpoints/step-00000001
  if (!isRun(files, run))
    return badInput(fmt::format("{}: belongs to no run, so there are no documents that were held back for it; say what "
                                "to evaluate on",
                                model.string()));
  MILLRACE_TRY(const RunDescription description, readRunDescription(files, RunDirectory(run)));
  return EvaluationSetup{dataSpecOf(description), description.project.training.context, false};
}

std::int64_t defaultContext(const ModelSpec& spec) {
  return std::min<std::int64_t>(1024, spec.maxPositions);
}

/// What the tokenizer encodes at once.
constexpr Bytes longestText = GiB - 1;

/// Runs of characters between white space.
std::int64_t countWords(std::string_view text) {
  std::int64_t words = 0;
  bool inWord = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = stepUtf8(text, at);
    const bool space = step.kind == Utf8Step::Kind::Character && isWhiteSpace(step.code);
    if (!space && !inWord) ++words;
    inWord = !space;
    at += static_cast<std::size_t>(step.length);
  }
  return words;
}

Result<EvaluationSetup> setupOf(FileSystem& files, const Path& model, const EvaluationData& data,
                                const ModelSpec& spec) {
  if (std::holds_alternative<RunValidation>(data)) return setupOfRun(files, model);
  if (const auto* validation = std::get_if<ProjectValidation>(&data)) return setupOf(validation->project);
  Project project;
  project.data.sources = std::get<EvaluationTexts>(data).sources;
  project.data.validationFraction = 0;
  return EvaluationSetup{dataSpecOf(project), defaultContext(spec), true};
}

Status checkOptions(const EvaluateOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"context", options.context}, {"rows", options.rows}, {"batch rows", options.batchRows}})
    if (value < 0) return badInput(fmt::format("{} is {}, expected 0 or more", name, value));
  return {};
}

/// What is the same however a model is evaluated.
class ModelEvaluation {
 public:
  ModelEvaluation(FileSystem& files, const EvaluateOptions& options, const SavedModel& model,
                  const Tokenizer& tokenizer)
      : m_files(files), m_options(options), m_model(model), m_tokenizer(tokenizer) {
    m_report.model = model.folder();
    m_report.step = model.step();
    m_report.warnings = model.warnings();
    m_log.addListener([this](LogLevel level, std::string_view message) {
      if (level >= LogLevel::Warning) m_report.warnings.emplace_back(message);
    });
  }

  Result<EvaluationReport> documents(EvaluationSetup setup) {
    MILLRACE_CHECK(start(setup.context));
    if (setup.whole) { // texts that no project says more of
      setup.data.chat.chatTemplate.model = m_model.folder();
      setup.data.chat.context = m_report.context;
    }
    MILLRACE_TRY(const Dataset dataset, prepareDataset(m_files, m_engine->pool(), m_log, setup.data, m_tokenizer,
                                                       [&](const DataProgress&) { return reading(); }));
    MILLRACE_TRY(const auto reader,
                 setup.whole ? dataset.wholeReader(m_report.context) : dataset.validationReader(m_report.context));
    m_report.rows = m_options.rows > 0 ? std::min(m_options.rows, reader->rows()) : reader->rows();
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t done = 0;
    MILLRACE_TRY(const EvaluationResult result, evaluate(m_engine->runner(), *reader, m_options.rows, [&] {
                   const bool stop = stopping(done);
                   done = std::min(done + m_shape.rows, m_report.rows);
                   return stop;
                 }));
    m_report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    m_report.loss = result.loss;
    m_report.perplexity = result.perplexity;
    m_report.bitsPerByte = result.bitsPerByte;
    m_report.targets = result.targets;
    m_report.sets = result.sets;
    return std::move(m_report);
  }

  Result<EvaluationReport> wholeText(const SlidingText& source) {
    if (m_options.rows > 0) return badInput("a text is evaluated as a whole: a limit of rows is for other data");
    WholeTextReport whole;
    std::vector<std::int32_t> tokens;
    {
      MILLRACE_TRY(const std::string text, readTextFile(m_files, source.file, longestText));
      whole.words = countWords(text);
      whole.bytes = static_cast<std::int64_t>(text.size());
      MILLRACE_TRY(tokens, m_tokenizer.encode(text, true));
    }
    if (whole.words == 0) return badInput(fmt::format("{}: holds no word", source.file.string()));
    whole.tokens = static_cast<std::int64_t>(tokens.size());
    MILLRACE_CHECK(start(defaultContext(m_model.spec())));
    whole.stride = source.stride > 0 ? source.stride : std::max<std::int64_t>(1, m_report.context / 2);
    if (source.stride < 0 || whole.stride > m_report.context)
      return badInput(
          fmt::format("the stride is {}, expected 1 to the context of {} tokens", source.stride, m_report.context));
    const SlidingWindows windows(std::move(tokens), m_report.context, whole.stride);
    m_report.rows = windows.windows();
    const auto begin = std::chrono::steady_clock::now();
    MILLRACE_TRY(const ForwardRunner::Loss loss,
                 evaluate(m_engine->runner(), windows, [&](std::int64_t done) { return stopping(done); }));
    m_report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    m_report.targets = loss.targets;
    m_report.loss = loss.sum / static_cast<double>(loss.targets);
    m_report.perplexity = std::exp(m_report.loss);
    m_report.bitsPerByte = loss.sum / std::numbers::ln2 / static_cast<double>(whole.bytes);
    whole.wordPerplexity = std::exp(loss.sum / static_cast<double>(whole.words));
    m_report.wholeText = whole;
    return std::move(m_report);
  }

 private:
  Status start(std::int64_t context) {
    m_report.context = m_shape.context = m_options.context > 0 ? m_options.context : context;
    if (m_report.context > m_model.spec().maxPositions)
      return badInput(fmt::format("the context is {} tokens, the model was made for {}; choose a shorter one",
                                  m_report.context, m_model.spec().maxPositions));
    m_shape.rows = m_options.batchRows > 0 ? m_options.batchRows : std::max<std::int64_t>(1, 2048 / m_report.context);
    MILLRACE_TRY(m_engine, InferenceEngine::create(m_model, m_options.compute, m_shape));
    return {};
  }

  bool reading() const { return !m_options.progress || m_options.progress(0, 0); }
  bool stopping(std::int64_t done) const { return m_options.progress && !m_options.progress(done, m_report.rows); }

  FileSystem& m_files;
  const EvaluateOptions& m_options;
  const SavedModel& m_model;
  const Tokenizer& m_tokenizer;
  InferenceEngine::Shape m_shape;
  std::optional<InferenceEngine> m_engine;
  EvaluationReport m_report;
  Log m_log;
};

Result<EvaluationReport> run(FileSystem& files, const ModelChoice& choice, const EvaluationData& data,
                             const EvaluateOptions& options) {
  MILLRACE_CHECK(checkOptions(options));
  MILLRACE_TRY(const SavedModel model, SavedModel::open(files, choice));
  MILLRACE_TRY(const Tokenizer tokenizer, model.tokenizer());
  ModelEvaluation evaluation(files, options, model, tokenizer);
  if (const auto* text = std::get_if<SlidingText>(&data)) return evaluation.wholeText(*text);
  MILLRACE_TRY(EvaluationSetup setup, setupOf(files, choice.path, data, model.spec()));
  return evaluation.documents(std::move(setup));
}

} // namespace

Result<EvaluationReport> evaluateModel(FileSystem& files, const ModelChoice& choice, const EvaluationData& data,
                                       const EvaluateOptions& options) {
  try {
    return run(files, choice, data, options);
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

} // namespace millrace

#include "engine/evaluate.h"

#include "api/inference_engine.h"
#include "run/run_preparation.h"
#include "train/evaluator.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

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

Result<EvaluationSetup> setupOf(FileSystem& files, const Path& model, const EvaluationData& data,
                                const ModelSpec& spec) {
  if (std::holds_alternative<RunValidation>(data)) return setupOfRun(files, model);
  if (const auto* validation = std::get_if<ProjectValidation>(&data)) return setupOf(validation->project);
  Project project;
  project.data.sources = std::get<EvaluationTexts>(data).sources;
  project.data.validationFraction = 0;
  return EvaluationSetup{dataSpecOf(project), std::min<std::int64_t>(1024, spec.maxPositions), true};
}

Status checkOptions(const EvaluateOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"context", options.context}, {"rows", options.rows}, {"batch rows", options.batchRows}})
    if (value < 0) return badInput(fmt::format("{} is {}, expected 0 or more", name, value));
  return {};
}

Result<EvaluationReport> run(FileSystem& files, const ModelChoice& choice, const EvaluationData& data,
                             const EvaluateOptions& options) {
  MILLRACE_CHECK(checkOptions(options));
  MILLRACE_TRY(const SavedModel source, SavedModel::open(files, choice));
  MILLRACE_TRY(const Tokenizer tokenizer, source.tokenizer());
  MILLRACE_TRY(EvaluationSetup setup, setupOf(files, choice.path, data, source.spec()));
  if (options.context > 0) setup.context = options.context;
  if (setup.context > source.spec().maxPositions)
    return badInput(fmt::format("the context is {} tokens, the model was made for {}; choose a shorter one",
                                setup.context, source.spec().maxPositions));

  EvaluationReport report;
  report.model = source.folder();
  report.step = source.step();
  report.warnings = source.warnings();
  report.context = setup.context;
  Log log;
  log.addListener([&](LogLevel level, std::string_view message) {
    if (level >= LogLevel::Warning) report.warnings.emplace_back(message);
  });
  InferenceEngine::Shape shape;
  shape.context = setup.context;
  shape.rows = options.batchRows > 0 ? options.batchRows : std::max<std::int64_t>(1, 2048 / setup.context);
  MILLRACE_TRY(InferenceEngine engine, InferenceEngine::create(source, options.compute, shape));
  MILLRACE_TRY(const Dataset dataset,
               prepareDataset(files, engine.pool(), log, setup.data, tokenizer,
                              [&](const DataProgress&) { return !options.progress || options.progress(0, 0); }));
  MILLRACE_TRY(const auto reader,
               setup.whole ? dataset.wholeReader(setup.context) : dataset.validationReader(setup.context));
  report.rows = options.rows > 0 ? std::min(options.rows, reader->rows()) : reader->rows();

  const auto begin = std::chrono::steady_clock::now();
  std::int64_t done = 0;
  MILLRACE_TRY(const EvaluationResult result, evaluate(engine.runner(), *reader, options.rows, [&] {
                 const bool goOn = !options.progress || options.progress(done, report.rows);
                 done = std::min(done + shape.rows, report.rows);
                 return !goOn;
               }));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.loss = result.loss;
  report.perplexity = result.perplexity;
  report.bitsPerByte = result.bitsPerByte;
  report.targets = result.targets;
  return report;
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

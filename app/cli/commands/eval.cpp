#include "eval.h"

#include "compute_options.h"
#include "engine/evaluate.h"
#include "engine/project_fields.h"
#include "progress.h"
#include "set_lines.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

namespace {

struct EvalCommandOptions {
  ComputeCommandOptions compute;
  std::vector<std::string> data;
  std::string format = "auto";
  std::string textField = "text";
  std::string separator;
  std::string project;
  std::string wholeText;
  std::int64_t stride = 0;
  std::int64_t context = 0;
  std::int64_t rows = 0;
  std::int64_t batchRows = 0;
  bool json = false;
};

Result<EvaluationData> dataOf(Program& program, const EvalCommandOptions& options) {
  if (!options.project.empty()) {
    MILLRACE_TRY(Project project, readProject(program.files, options.project));
    return ProjectValidation{std::move(project)};
  }
  if (!options.wholeText.empty()) return SlidingText{options.wholeText, options.stride};
  if (options.data.empty()) return RunValidation{};
  DataSourceSpec source;
  source.paths.assign(options.data.begin(), options.data.end());
  source.format = dataFormatOf(options.format).value_or(DataFormat::Auto);
  source.textField = options.textField;
  source.separator = options.separator;
  return EvaluationTexts{{std::move(source)}};
}

nlohmann::ordered_json toJson(const EvaluationReport& report) {
  nlohmann::ordered_json json = {{"model", report.model.string()},
                                 {"step", nullptr},
                                 {"loss", report.loss},
                                 {"perplexity", report.perplexity},
                                 {"bits_per_byte", nullptr},
                                 {"targets", report.targets},
                                 {"rows", report.rows},
                                 {"context", report.context},
                                 {"seconds", report.seconds},
                                 {"warnings", report.warnings}};
  for (const SetLoss& set : report.sets) {
    nlohmann::ordered_json entry = {{"name", set.name},
                                    {"loss", set.loss},
                                    {"perplexity", set.perplexity},
                                    {"bits_per_byte", nullptr},
                                    {"targets", set.targets}};
    if (set.bitsPerByte > 0) entry["bits_per_byte"] = set.bitsPerByte;
    json["sets"].push_back(std::move(entry));
  }
  if (const auto& whole = report.wholeText) {
    json["stride"] = whole->stride;
    json["tokens"] = whole->tokens;
    json["words"] = whole->words;
    json["bytes"] = whole->bytes;
    json["word_perplexity"] = whole->wordPerplexity;
  }
  if (report.step) json["step"] = *report.step;
  if (report.bitsPerByte > 0) json["bits_per_byte"] = report.bitsPerByte;
  return json;
}

Result<int> eval(Program& program, const EvalCommandOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  MILLRACE_TRY(const EvaluationData data, dataOf(program, options));
  EvaluateOptions how;
  MILLRACE_TRY(how.compute, computeOptions(options.compute));
  how.context = options.context;
  how.rows = options.rows;
  how.batchRows = options.batchRows;
  Progress progress(console);
  how.progress = [&](std::int64_t doneRows, std::int64_t rows) {
    progress.update(rows > 0 ? "evaluating rows" : "reading the text", Progress::Unit::Count, doneRows, rows);
    return true;
  };
  MILLRACE_TRY(const EvaluationReport report, evaluateModel(program.files, modelChoice(options.compute), data, how));
  if (options.json) {
    console.result(toJson(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return done;
  }
  for (const std::string& warning : report.warnings) console.warning(warning);
  console.line(fmt::format("loss {:.4f}, perplexity {:.2f}{}", report.loss, report.perplexity,
                           report.bitsPerByte > 0 ? fmt::format(", {:.3f} bits per byte", report.bitsPerByte) : ""));
  for (const std::string& line : setLines(report.sets)) console.line(line);
  if (const auto& whole = report.wholeText)
    console.line(fmt::format("perplexity by word {:.2f}: {} words, {} tokens, windows that move on by {}",
                             whole->wordPerplexity, formatCount(whole->words), formatCount(whole->tokens),
                             formatCount(whole->stride)));
  const double rate = report.seconds > 0 ? static_cast<double>(report.targets) / report.seconds : 0;
  console.line(fmt::format("{} tokens predicted in {} rows of {}, {:.1f} tokens/s", formatCount(report.targets),
                           formatCount(report.rows), formatCount(report.context), rate));
  console.line(fmt::format("model: {}", report.model.string()));
  return done;
}

} // namespace

void addEval(CLI::App& app, Program& program) {
  const auto [command, options] =
      addCommand(app, program, "eval",
                 "Tell how well a model predicts a text: its own run's validation data, a project's, or files",
                 "millrace eval ~/.local/share/millrace/runs/quickstart --best", &eval);
  addComputeOptions(*command, options->compute);
  const auto files =
      command->add_option("--data", options->data, "Text files or JSON lines; default: what the run held back");
  files->option_text("FILE ...");
  const auto project = command->add_option("--project", options->project, "The documents that this project holds back");
  project->option_text("FILE")->excludes(files);
  const auto whole =
      command->add_option("--wikitext,--whole-text", options->wholeText,
                          "A text as a whole, as papers report it of wiki.test.raw: a window slides over "
                          "it; perplexity by token and by word");
  whole->option_text("FILE")->excludes(files)->excludes(project);
  command->add_option("--stride", options->stride, "Tokens by which that window moves on; default: half of the context")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(whole);
  command->add_option("--format", options->format, "Of --data: as data.sources.format of a project; default: auto")
      ->check(CLI::IsMember(findProjectField("data.sources.format")->words));
  command->add_option("--separator", options->separator, "A line of text files that ends a document")->option_text("S");
  command->add_option("--text-field", options->textField, "Of each object in JSON lines; default: text")
      ->option_text("F");
  command->add_option("--context", options->context, "Tokens of a row; default: as in training")->option_text("N");
  command->add_option("--rows", options->rows, "Rows at most; default: all")->option_text("N");
  command->add_option("--batch-rows", options->batchRows, "Rows computed at once; default: about 2048 tokens")
      ->option_text("N");
  command->add_flag("--json", options->json, "Print one JSON object");
}

} // namespace millrace::cli

#include "import.h"

#include "engine/import.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace millrace::cli {

namespace {

struct ImportCommandOptions {
  std::string folder;
  std::string tokenizer;
  bool json = false;
};

using Kind = std::pair<const char*, const std::vector<std::string>*>;

/// Problems by kind, as they are titled.
std::vector<Kind> kindsOf(const ImportProblems& problems) {
  return {{"missing", &problems.missing},
          {"unexpected", &problems.unexpected},
          {"of another shape", &problems.wrongShape},
          {"not floating-point numbers", &problems.notFloats},
          {"there under two names", &problems.twice}};
}

nlohmann::ordered_json toJson(const ImportedModel& model) {
  const ImportProblems& problems = model.problems;
  return {{"folder", model.folder.string()},
          {"family", model.family},
          {"parameters", model.parameters},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"vocabulary", model.vocabulary},
          {"max_positions", model.maxPositions},
          {"tied", model.tied},
          {"files", model.files},
          {"bytes", model.bytes},
          {"types", model.types},
          {"tokens", model.tokens},
          {"added_rows", model.addedRows},
          {"chat_template", model.chatTemplate},
          {"warnings", model.warnings},
          {"problems",
           {{"missing", problems.missing},
            {"unexpected", problems.unexpected},
            {"wrong_shape", problems.wrongShape},
            {"not_floats", problems.notFloats},
            {"twice", problems.twice},
            {"others", problems.others}}}};
}

void show(Console& console, const ImportedModel& model) {
  std::string types;
  for (const std::string& type : model.types) types += (types.empty() ? "" : ", ") + type;
  console.line(
      fmt::format("{}: {}, {} parameters", model.folder.string(), model.family, formatCount(model.parameters)));
  console.line(fmt::format("  {} layers of width {}, {} rows of vocabulary{}, up to {} positions", model.layers,
                           model.hidden, formatCount(model.vocabulary), model.tied ? " (tied)" : "",
                           formatCount(model.maxPositions)));
  console.line(fmt::format("  {} of {} in {} file{}", formatBytes(model.bytes), types, model.files,
                           model.files == 1 ? "" : "s"));
  if (model.tokens > 0)
    console.line(
        fmt::format("  {} tokens, {} chat template", formatCount(model.tokens), model.chatTemplate ? "with a" : "no"));
  if (model.addedRows > 0)
    console.line(fmt::format("  training adds {} row{} for tokens that were added to the tokenizer; each starts as the "
                             "mean of all others",
                             model.addedRows, model.addedRows == 1 ? "" : "s"));
  for (const auto& [title, names] : kindsOf(model.problems)) {
    if (names->empty()) continue;
    console.line(fmt::format("tensors {} ({}):", title, names->size()));
    for (const std::string& name : *names) console.line("  " + printable(name));
  }
  for (const std::string& problem : model.problems.others) console.line("problem: " + printable(problem));
}

Result<int> importFolder(Program& program, const ImportCommandOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  std::optional<std::filesystem::path> tokenizer;
  if (!options.tokenizer.empty()) tokenizer = options.tokenizer;
  MILLRACE_TRY(const ImportedModel model, importModel(program.files, options.folder, tokenizer));
  if (options.json)
    console.result(toJson(model).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else {
    for (const std::string& warning : model.warnings) console.warning(warning);
    show(console, model);
  }
  if (model.problems.count() == 0) return done;
  std::string kinds;
  for (const auto& [title, names] : kindsOf(model.problems))
    if (!names->empty()) kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", names->size(), title);
  if (kinds.empty()) return badInput(model.problems.others.front());
  return badInput(
      fmt::format("{}: its tensors are not those of its config.json ({}); use weights and config of one model",
                  options.folder, kinds));
}

} // namespace

void addImport(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(
      app, program, "import",
      "Look at a Hugging Face model folder before training from it: whether its files are whole, its tensors "
      "those of its config, its tokenizer its own. Nothing is written: model.folder of a project names it",
      "millrace import models/Qwen2.5-0.5B", &importFolder);
  command->add_option("FOLDER", options->folder, "A Hugging Face model folder")->required();
  command->add_option("--tokenizer", options->tokenizer, "A tokenizer.json in place of the folder's own")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Print what was found as JSON");
}

} // namespace millrace::cli

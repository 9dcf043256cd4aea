#include "data.h"

#include "engine/data_inspect.h"
#include "engine/project_fields.h"
#include "engine/project_file.h"
#include "project_options.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

namespace {

using Json = nlohmann::ordered_json;

struct InspectCommandOptions {
  ProjectOptions project;
  std::vector<std::string> data;
  std::string model;
  std::string tokenizer;
  std::string format;
  std::string textField;
  std::string separator;
  std::string chatTemplate;
  std::string builtIn;
  std::string learn;
  std::string overLong;
  std::int64_t context = 0;
  DataInspectOptions how;
  bool json = false;
};

void setText(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

/// As if a project file had said it.
Result<Project> projectOfOptions(const InspectCommandOptions& options) {
  Json source = {{"path", options.data}}, chat = Json::object(), training = {{"steps", 1}};
  setText(source, "format", options.format);
  setText(source, "text_field", options.textField);
  setText(source, "separator", options.separator);
  setText(chat, "template", options.chatTemplate);
  setText(chat, "built_in", options.builtIn);
  setText(chat, "learn", options.learn);
  setText(chat, "over_long", options.overLong);
  if (options.context > 0) training["context"] = options.context;
  Json project = {{"format", 1}, {"data", {{"sources", std::move(source)}, {"chat", std::move(chat)}}}};
  project["training"] = std::move(training);
  project["model"] = options.model.empty() ? Json{{"config", Json::object()}} : Json{{"folder", options.model}};
  if (!options.tokenizer.empty())
    project["tokenizer"]["file"] = options.tokenizer;
  else if (options.model.empty())
    project["tokenizer"]["train"]["vocabulary"] = 4096;
  return parseProject(project.dump(-1, ' ', false, Json::error_handler_t::replace), "the command line",
                      std::filesystem::current_path());
}

Result<Project> projectOf(Program& program, const InspectCommandOptions& options) {
  if (options.project.project.empty() == options.data.empty())
    return badInput("name a project, or files with --data: one of them");
  return options.data.empty() ? readProject(program, options.project) : projectOfOptions(options);
}

Json toJson(const DataInspection& found) {
  Json files = Json::array(), sets = Json::array(), unusable = Json::array(), examples = Json::array();
  for (const InspectedFile& file : found.files) {
    files.push_back(
        {{"file", file.path.string()}, {"format", wordOf(file.format)}, {"why", file.why}, {"rows", file.rows}});
    files.back()["problem"] = file.problem.empty() ? Json() : Json(file.problem);
  }
  for (const InspectedSet& set : found.sets) sets.push_back({{"name", set.name}, {"documents", set.documents}});
  for (const InspectedRow& row : found.unusable)
    unusable.push_back({{"file", row.file.string()}, {"line", row.line}, {"problem", row.problem}});
  for (const InspectedExample& example : found.examples) {
    Json tokens = Json::array();
    for (const InspectedToken& token : example.tokens)
      tokens.push_back({{"id", token.id}, {"text", token.text}, {"learnt", token.learnt}});
    examples.push_back({{"file", example.file.string()},
                        {"line", example.line},
                        {"set", example.set},
                        {"tokens_in_all", example.tokensInAll},
                        {"learnt", example.learnt},
                        {"tokens", std::move(tokens)}});
  }
  return {{"files", std::move(files)},
          {"files_in_all", found.filesInAll},
          {"tokenizer", found.tokenizer},
          {"chat_template", found.chatTemplate.empty() ? Json() : Json(found.chatTemplate)},
          {"marks_without_token", found.marksWithoutToken},
          {"context", found.context},
          {"rows", found.rows},
          {"documents", found.documents},
          {"empty_rows", found.emptyRows},
          {"bad_rows", found.badRows},
          {"other_sets", found.otherSets},
          {"repaired_sequences", found.repairedSequences},
          {"truncated", found.truncated},
          {"split", found.split},
          {"dropped", found.dropped},
          {"nothing_learnt", found.nothingLearnt},
          {"tokens", found.tokens},
          {"learnt_tokens", found.learntTokens},
          {"sets", std::move(sets)},
          {"unusable", std::move(unusable)},
          {"examples", std::move(examples)}};
}

/// Without line ends and the like, so that a token stays in its place.
std::string spelled(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n')
      result += "\\n";
    else if (c == '\r')
      result += "\\r";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return printable(result);
}

void showExample(Console& console, const InspectedExample& example, std::size_t number) {
  console.line(fmt::format("\nexample {}: {}:{}{}: {} tokens, {} learnt", number, example.file.string(), example.line,
                           example.set.empty() ? "" : fmt::format(" ({})", example.set),
                           formatCount(example.tokensInAll), formatCount(example.learnt)));
  std::string line;
  for (const InspectedToken& token : example.tokens) {
    line += token.learnt ? '[' + spelled(token.text) + ']' : '(' + spelled(token.text) + ')';
    if (token.text.ends_with('\n')) {
      console.line("  " + line);
      line.clear();
    }
  }
  if (!line.empty()) console.line("  " + line);
  const auto left = example.tokensInAll - static_cast<std::int64_t>(example.tokens.size());
  if (left > 0) console.line(fmt::format("  and {} more tokens", formatCount(left)));
}

void show(Console& console, const DataInspection& found) {
  for (const InspectedFile& file : found.files) {
    console.line(fmt::format("{}: {} ({})", file.path.string(), wordOf(file.format), file.why));
    if (!file.problem.empty()) console.warning(file.problem);
  }
  const auto more = found.filesInAll - static_cast<std::int64_t>(found.files.size());
  if (more > 0) console.line(fmt::format("and {} more files", formatCount(more)));
  console.line(fmt::format("tokenizer: {}", found.tokenizer));
  if (!found.chatTemplate.empty()) console.line(fmt::format("chat template: {}", found.chatTemplate));
  if (!found.marksWithoutToken.empty())
    console.warning(
        fmt::format("the template writes {}, for which the tokenizer has no token: they are plain text. Add "
                    "them to added_tokens of tokenizer.json, or choose another template (data.chat)",
                    fmt::join(found.marksWithoutToken, ", ")));
  const auto count = [&](std::int64_t number, const std::string& what) {
    if (number > 0) console.line(fmt::format("{} {}", formatCount(number), what));
  };
  console.line(fmt::format("{} rows looked at: {} documents", formatCount(found.rows), formatCount(found.documents)));
  count(found.emptyRows, "rows are empty");
  count(found.otherSets, "rows are of other sets than data.sources.sets asks for");
  count(found.badRows, "rows cannot be used:");
  for (const InspectedRow& row : found.unusable)
    console.line(fmt::format("  {}:{}: {}", row.file.string(), row.line, row.problem));
  count(found.repairedSequences, "byte sequences are not UTF-8 and become U+FFFD");
  const std::string longer = fmt::format("conversations are longer than the context of {} tokens", found.context);
  count(found.split, longer + " and are split between turns");
  count(found.truncated, longer + ", or parts of such: their ends are missing");
  count(found.dropped, longer + " and are left out");
  count(found.nothingLearnt, "conversations are left out, since no token of them is learnt");
  for (const InspectedSet& set : found.sets)
    if (found.sets.size() > 1 || !set.name.empty())
      console.line(
          fmt::format("set {}: {} documents", set.name.empty() ? "(none)" : set.name, formatCount(set.documents)));
  console.line(fmt::format("{} tokens, {} of them learnt; below [learnt] and (not learnt)", formatCount(found.tokens),
                           formatCount(found.learntTokens)));
  for (std::size_t i = 0; i < found.examples.size(); ++i) showExample(console, found.examples[i], i + 1);
}

Result<int> inspect(Program& program, const InspectCommandOptions& options) {
  if (options.json) program.console.reserveOutput();
  MILLRACE_TRY(const Project project, projectOf(program, options));
  MILLRACE_TRY(const DataInspection found, inspectData(program.files, project, options.how));
  if (options.json)
    program.console.result(toJson(found).dump(-1, ' ', false, Json::error_handler_t::replace));
  else
    show(program.console, found);
  if (found.documents == 0) return badInput("no row that was looked at gives anything to learn from");
  return done;
}

void addInspect(CLI::App& parent, Program& program) {
  const auto [command, options] =
      addCommand(parent, program, "inspect", "Show what training would see: formats, counts, and examples by token",
                 "millrace data inspect --data chats.jsonl --model models/Qwen2.5-0.5B", &inspect);
  addProjectOptions(*command, options->project, true);
  command->add_option("--data", options->data, "In place of a project: files, folders, or patterns with *")
      ->option_text("FILE ...");
  command->add_option("--model", options->model, "With --data: whose tokenizer and chat template are taken")
      ->option_text("DIR");
  command->add_option("--tokenizer", options->tokenizer, "With --data: a tokenizer.json")->option_text("FILE");
  command->add_option("--format", options->format, "With --data: as data.sources.format; default: auto")
      ->check(CLI::IsMember(findProjectField("data.sources.format")->words));
  command->add_option("--text-field", options->textField, "With --data: of each object in JSON lines; default: text")
      ->option_text("F");
  command->add_option("--separator", options->separator, "With --data: a line of text files that ends a document")
      ->option_text("S");
  command->add_option("--template", options->chatTemplate, "With --data: a Jinja template")->option_text("FILE");
  command->add_option("--built-in", options->builtIn, "With --data: a built-in chat template")
      ->check(CLI::IsMember(findProjectField("data.chat.built_in")->words));
  command->add_option("--learn", options->learn, "With --data: as data.chat.learn; default: assistant")
      ->check(CLI::IsMember(findProjectField("data.chat.learn")->words));
  command->add_option("--over-long", options->overLong, "With --data: as data.chat.over_long; default: truncate")
      ->check(CLI::IsMember(findProjectField("data.chat.over_long")->words));
  command->add_option("--context", options->context, "With --data: tokens of a row; default: 1024")->option_text("N");
  command->add_option("--rows", options->how.rows, "Looked at, spread over the files; default: 100")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command->add_option("--examples", options->how.examples, "Shown token by token; default: 3")
      ->option_text("N")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1000}));
  command->add_flag("--json", options->json, "Print one JSON object");
}

} // namespace

void addData(CLI::App& app, Program& program) {
  CLI::App* const group = app.add_subcommand("data", "Look at what training would learn from");
  group->require_subcommand(1);
  group->footer("Example:\n  millrace data inspect my-project.json");
  addInspect(*group, program);
}

} // namespace millrace::cli

#include "generate.h"

#include "compute_options.h"
#include "engine/chat.h"
#include "engine/generate.h"
#include "input.h"

#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace millrace::cli {

namespace {

constexpr Bytes longestMessage = 16 * MiB;

struct GenerateCommandOptions {
  ComputeCommandOptions compute;
  std::string prompt;
  bool chat = false;
  std::string system;
  ChatTemplateChoice chatTemplate;
  SamplingOptions sampling;
  std::int64_t context = 0;
  bool json = false;
};

nlohmann::ordered_json toJson(const std::string& prompt, const GeneratedText& generated) {
  const double seconds = generated.promptSeconds + generated.generateSeconds;
  return {{"prompt", prompt},
          {"text", generated.text},
          {"prompt_tokens", generated.promptTokens},
          {"tokens", generated.tokens},
          {"stop", toString(generated.stop)},
          {"prompt_seconds", generated.promptSeconds},
          {"generate_seconds", generated.generateSeconds},
          {"tokens_per_second", seconds > 0 ? static_cast<double>(generated.tokens) / seconds : 0}};
}

/// One continuation, shown as it comes; with `echo` behind its prompt, once the settings have been accepted.
Result<GeneratedText> continuePrompt(Console& console, TextGenerator& generator, const std::string& prompt,
                                     const SamplingOptions& sampling, bool json, bool echo) {
  Output& out = console.out();
  bool begun = !echo;
  const std::function<bool(std::string_view)> show = [&](std::string_view piece) {
    if (!json) {
      if (!std::exchange(begun, true)) show(prompt);
      out.write(out.isTerminal() ? printable(piece) : std::string(piece));
      out.flush();
    }
    return !out.closed();
  };
  MILLRACE_TRY(GeneratedText generated, generator.generate(prompt, sampling, show));
  if (!begun) show("");
  if (json)
    console.result(toJson(prompt, generated).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    out.write("\n");
  return generated;
}

/// Answers the prompt, or else each line of standard input, with what was said before in mind.
Result<int> converse(Program& program, TextGenerator& generator, const GenerateCommandOptions& options) {
  ChatTemplateChoice choice = options.chatTemplate;
  if (choice.file.empty() && choice.builtIn.empty()) choice.model = generator.folder();
  MILLRACE_TRY(const ChatRenderer renderer, ChatRenderer::open(program.files, choice));
  if (!renderer.problem().empty()) return badInput(renderer.problem());
  SamplingOptions sampling = options.sampling;
  sampling.promptIsWhole = true;
  if (std::string end = renderer.turnEnd(); !end.empty() && end.size() <= 64) sampling.stop.push_back(std::move(end));
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  const auto answer = [&](std::string message) -> Status {
    messages.push_back({"user", std::move(message)});
    MILLRACE_TRY(const std::string prompt, renderer.renderPrompt(messages));
    MILLRACE_TRY(GeneratedText generated,
                 continuePrompt(program.console, generator, prompt, sampling, options.json, false));
    messages.push_back({"assistant", std::move(generated.text)});
    return {};
  };
  if (!options.prompt.empty()) {
    MILLRACE_CHECK(answer(options.prompt));
    return done;
  }
  Output& out = program.console.out();
  Input input(STDIN_FILENO, [&] {
    if (!options.json && out.isTerminal()) out.write("> ");
    out.flush();
  });
  while (!out.closed()) {
    MILLRACE_TRY(const std::optional<std::string_view> line, input.nextLine(longestMessage));
    if (!line) break;
    if (!line->empty()) MILLRACE_CHECK(answer(std::string(*line)));
  }
  return done;
}

Result<int> generate(Program& program, const GenerateCommandOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  GenerateOptions how;
  MILLRACE_TRY(how.compute, computeOptions(options.compute));
  how.context = options.context;
  MILLRACE_TRY(TextGenerator generator, TextGenerator::open(program.files, modelChoice(options.compute), how));
  for (const std::string& warning : generator.warnings()) console.warning(warning);
  if (options.chat) return converse(program, generator, options);
  MILLRACE_CHECK(continuePrompt(console, generator, options.prompt, options.sampling, options.json, true));
  return done;
}

} // namespace

void addGenerate(CLI::App& app, Program& program) {
  const auto [command, options] =
      addCommand(app, program, "generate", "Continue a prompt; the text comes as it is made",
                 "millrace generate ~/.local/share/millrace/runs/quickstart --prompt \"The best way to\"", &generate);
  addComputeOptions(*command, options->compute);
  SamplingOptions& sampling = options->sampling;
  command->add_option("--prompt", options->prompt, "What to continue; default: nothing, a new text")
      ->option_text("TEXT");
  CLI::Option* chat = command->add_flag(
      "--chat", options->chat,
      "The prompt is what a user says, and the model's chat template asks for the answer; without --prompt every line "
      "of standard input is, and what was said before is kept in mind");
  command->add_option("--system", options->system, "With --chat: the system message that comes first")
      ->option_text("TEXT")
      ->needs(chat);
  CLI::Option* file = command->add_option("--template", options->chatTemplate.file, "With --chat: another template")
                          ->option_text("FILE")
                          ->needs(chat);
  command
      ->add_option("--built-in", options->chatTemplate.builtIn,
                   fmt::format("With --chat: a built-in template, for models that have none: {}",
                               fmt::join(builtInChatTemplates(), ", ")))
      ->option_text("NAME")
      ->needs(chat)
      ->excludes(file);
  command->add_option("--tokens", sampling.tokens, "New tokens, at most; default: 128")->option_text("N");
  command->add_option("--temperature", sampling.temperature, "0: always the likeliest token; default: 0.8")
      ->option_text("T");
  command->add_option("--top-k", sampling.topK, "Only the K likeliest tokens; default: all")->option_text("K");
  command
      ->add_option("--top-p", sampling.topP, "Only the likeliest tokens with this probability together; default: 0.95")
      ->option_text("P");
  command->add_option("--stop", sampling.stop, "A text that ends it and is left out; may be given several times")
      ->option_text("TEXT")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--seed", sampling.seed, "The same seed, the same text; default: 1")->option_text("N");
  command->add_option("--context", options->context, "Tokens of prompt and text together, at most; default: as needed")
      ->option_text("N");
  command->add_flag("--json", options->json, "Print prompt, text and rates as one JSON object");
}

} // namespace millrace::cli

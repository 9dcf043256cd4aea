#include "generate.h"

#include "compute_options.h"
#include "engine/generate.h"

#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

namespace millrace::cli {

namespace {

struct GenerateCommandOptions {
  ComputeCommandOptions compute;
  std::string prompt;
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

Result<int> generate(Program& program, const GenerateCommandOptions& options) {
  Console& console = program.console;
  Output& out = console.out();
  if (options.json) console.reserveOutput();
  GenerateOptions how;
  MILLRACE_TRY(how.compute, computeOptions(options.compute));
  how.context = options.context;
  MILLRACE_TRY(TextGenerator generator, TextGenerator::open(program.files, modelChoice(options.compute), how));
  for (const std::string& warning : generator.warnings()) console.warning(warning);
  bool begun = false; // the prompt is shown once the settings have been accepted
  const std::function<bool(std::string_view)> show = [&](std::string_view piece) {
    if (!options.json) {
      if (!std::exchange(begun, true)) show(options.prompt);
      out.write(out.isTerminal() ? printable(piece) : std::string(piece));
      out.flush();
    }
    return !out.closed();
  };
  MILLRACE_TRY(const GeneratedText generated, generator.generate(options.prompt, options.sampling, show));
  if (options.json)
    console.result(toJson(options.prompt, generated).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else {
    if (!begun) show("");
    out.write("\n");
  }
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

#include "tokenizer.h"

#include "engine/chat.h"
#include "engine/project_fields.h"
#include "engine/tokenizer.h"
#include "input.h"
#include "progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace millrace::cli {

namespace {

constexpr Bytes longestLine = 256 * MiB;
constexpr Bytes longestText = GiB - 1;

struct TokenizerTrainOptions {
  TokenizerTrainingOptions training;
  std::vector<std::string> data;
  std::string out;
  std::string byteLimit;
  bool json = false;
};

Result<int> trainOn(Program& program, const TokenizerTrainOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  TokenizerTrainingOptions training = options.training;
  training.data.assign(options.data.begin(), options.data.end());
  if (!options.byteLimit.empty()) {
    MILLRACE_TRY(training.byteLimit, parseBytes(options.byteLimit));
  }
  Progress progress(console);
  const auto show = [&](const TokenizerTrainingProgress& now) {
    const bool reading = now.phase == TokenizerTrainingProgress::Phase::Reading;
    progress.update(reading ? "reading" : "learning entries", reading ? Progress::Unit::Bytes : Progress::Unit::Count,
                    now.done, now.total);
    return true;
  };
  MILLRACE_TRY(const TrainedTokenizer trained,
               trainTokenizerFile(program.files, training, options.out, show, [&](std::string_view warning) {
                 console.line(fmt::format("warning: {}", warning));
               }));
  if (options.json)
    console.result(
        nlohmann::ordered_json(
            {{"file", options.out}, {"vocabulary", trained.vocabulary}, {"fingerprint", trained.fingerprint}})
            .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    console.line(fmt::format("{}: {} entries{}", options.out, formatCount(trained.vocabulary),
                             trained.vocabulary < training.vocabulary ? "; the text has no more" : ""));
  return done;
}

struct CodecOptions {
  std::string tokenizer;
  bool jsonl = false;
  bool special = false;
};

/// Line by line through `convert`, answers behind one another in blocks, or at once where somebody waits for them.
template <class Convert>
Result<int> convertLines(Program& program, const Convert& convert) {
  Output& out = program.console.out();
  Input input(STDIN_FILENO, [&] { out.flush(); });
  while (!out.closed()) {
    MILLRACE_TRY(const std::optional<std::string_view> line, input.nextLine(longestLine));
    if (!line) break;
    MILLRACE_TRY(const std::string converted,
                 convert(*line, fmt::format("standard input, line {}", input.lineNumber())));
    out.write(converted);
    out.write("\n");
  }
  return done;
}

Result<int> encode(Program& program, const CodecOptions& options) {
  MILLRACE_TRY(const TextCodec codec, TextCodec::open(program.files, options.tokenizer));
  if (options.jsonl)
    return convertLines(program, [&](std::string_view line, const std::string& source) {
      return codec.encodeLine(line, options.special, source);
    });
  MILLRACE_TRY(const std::string text, Input(STDIN_FILENO, {}).rest(longestText));
  MILLRACE_TRY(const std::vector<std::int32_t> ids, codec.encode(text, options.special));
  Output& out = program.console.out();
  for (std::size_t i = 0; i < ids.size(); ++i) out.write(fmt::format("{}{}", i == 0 ? "" : " ", ids[i]));
  out.write("\n");
  return done;
}

Result<int> decode(Program& program, const CodecOptions& options) {
  MILLRACE_TRY(const TextCodec codec, TextCodec::open(program.files, options.tokenizer));
  if (options.jsonl)
    return convertLines(program, [&](std::string_view line, const std::string& source) {
      return codec.decodeLine(line, options.special, source);
    });
  MILLRACE_TRY(const std::string ids, Input(STDIN_FILENO, {}).rest(longestText));
  MILLRACE_TRY(const std::string text, codec.decodeText(ids, options.special, "standard input"));
  program.console.out().write(text); // nothing added: what was encoded comes back byte for byte
  return done;
}

struct ChatOptions {
  std::string file;
  std::string model;
  std::string builtIn;
  std::string name;
  bool jsonl = false;
  bool ranges = false;
};

Result<int> chat(Program& program, const ChatOptions& options) {
  MILLRACE_TRY(const ChatRenderer renderer,
               ChatRenderer::open(program.files, {options.file, options.model, options.builtIn, options.name}));
  MILLRACE_TRY(const int code, convertLines(program, [&](std::string_view line, const std::string& source) {
                 return Result<std::string>(renderer.renderLine(line, options.ranges, source));
               }));
  if (!renderer.problem().empty()) return badInput(renderer.problem());
  return code;
}

void addTraining(CLI::App& parent, Program& program) {
  const auto [command, options] = addCommand(parent, program, "train", "Train a byte-level BPE tokenizer on files",
                                             "millrace tokenizer train --data books.txt --vocabulary 8192 --out "
                                             "tokenizer.json",
                                             &trainOn);
  command->add_option("--data", options->data, "Text files, JSON lines, folders, or patterns with *")
      ->required()
      ->option_text("FILE ...");
  command->add_option("--vocabulary", options->training.vocabulary, "Entries, the 256 bytes and special ones included")
      ->required()
      ->option_text("N");
  command->add_option("--out", options->out, "The tokenizer.json to write")->required()->option_text("FILE");
  command->add_option("--separator", options->training.separator, "A line of text files that ends a document")
      ->option_text("S");
  command->add_option("--text-field", options->training.textField, "Of each object in JSON lines; default: text")
      ->option_text("F");
  command->add_option("--format", options->training.format, "As data.sources.format of a project; default: auto")
      ->check(CLI::IsMember(findProjectField("data.sources.format")->words));
  command->add_option("--bytes", options->byteLimit, "Text to learn from, at most; default: 1GiB")->option_text("SIZE");
  command->add_option("--threads", options->training.threads, "Default: the usable cores")
      ->option_text("N")
      ->check(CLI::Range(0, 4096));
  command->add_flag("--json", options->json, "Print what was made as JSON");
}

void addCodec(CLI::App& command, CodecOptions& options, const char* jsonl, const char* special) {
  command.add_option("--tokenizer", options.tokenizer, "A tokenizer.json")->required()->option_text("FILE");
  command.add_flag("--jsonl", options.jsonl, jsonl);
  command.add_flag("--special", options.special, special);
}

void addChat(CLI::App& parent, Program& program) {
  const auto [command, options] =
      addCommand(parent, program, "chat", "Render conversations with a chat template",
                 "echo '{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}' | millrace tokenizer chat "
                 "--built-in chatml --jsonl",
                 &chat);
  CLI::Option_group* const source = command->add_option_group("template", "The chat template, one of");
  source->add_option("--template", options->file, "A Jinja template")->option_text("FILE");
  source->add_option("--model", options->model, "A model folder; its special tokens are known to the template")
      ->option_text("DIR");
  source->add_option("--built-in", options->builtIn, fmt::format("{}", fmt::join(builtInChatTemplates(), ", ")))
      ->option_text("NAME");
  source->require_option(1);
  command->add_option("--name", options->name, "Which one, where the model has several; default: default")
      ->option_text("NAME");
  command
      ->add_flag("--jsonl", options->jsonl,
                 "An object a line in (messages, add_generation_prompt, tools, ...), {\"rendered\":...} or "
                 "{\"error\":...} a line out")
      ->required();
  command->add_flag("--ranges", options->ranges,
                    "Render for training: also \"assistant\", the bytes that assistants say, as [begin,end) pairs");
}

} // namespace

void addTokenizer(CLI::App& app, Program& program) {
  CLI::App* const group =
      app.add_subcommand("tokenizer", "Train a tokenizer; turn text into token ids and back; render chats");
  group->require_subcommand(1);
  group->footer("Example:\n  millrace tokenizer encode --tokenizer tokenizer.json < book.txt");
  addTraining(*group, program);
  const auto [encoding, encodeOptions] =
      addCommand(*group, program, "encode", "Turn standard input into token ids",
                 "echo '\"Hello world\"' | millrace tokenizer encode --tokenizer tokenizer.json --jsonl", &encode);
  addCodec(*encoding, *encodeOptions, "A JSON string a line in, {\"ids\":[...]} a line out; else all input is one text",
           "Add what the tokenizer puts around a text");
  const auto [decoding, decodeOptions] =
      addCommand(*group, program, "decode", "Turn token ids on standard input into text",
                 "echo '15496 995' | millrace tokenizer decode --tokenizer tokenizer.json", &decode);
  addChat(*group, program);
  addCodec(*decoding, *decodeOptions, "{\"ids\":[...]} a line in, a JSON string a line out; else all input is one list",
           "Spell out special tokens");
}

} // namespace millrace::cli

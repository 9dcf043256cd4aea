#include "project/project_sections.h"

#include <fmt/format.h>

namespace millrace {

namespace {

constexpr std::size_t mostPaths = 100'000;

/// The texts of a list, or of one text alone. Problems go to the reader.
std::vector<std::string> texts(JsonReader& reader, const std::string& key, const std::string& what) {
  const Json& value = reader.value(key);
  std::vector<std::string> found;
  if (value.is_null()) return found;
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array()) {
    reader.problem(key, fmt::format("is {}, expected {} or a list of them", value.type_name(), what));
    return found;
  }
  for (const Json& element : value) {
    if (!element.is_string()) {
      reader.problem(key, fmt::format("holds {}, expected {} in each place", element.type_name(), what));
      return {};
    }
    found.push_back(element.get<std::string>());
  }
  return found;
}

/// A path that must not be empty.
Path path(JsonReader& reader, const std::string& key, const SectionContext& context) {
  const std::string text = reader.text(key, "");
  if (text.empty()) reader.problem(key, "is empty, expected a path");
  return context.resolve(text);
}

Result<DataSourceSpec> readSource(const Json& value, const std::string& prefix, const SectionContext& context) {
  DataSourceSpec source;
  if (value.is_string()) {
    if (value.get<std::string>().empty())
      return badInput(fmt::format("{}: {} is empty, expected the path of a file", context.source, prefix), prefix);
    source.paths.push_back(context.resolve(value.get<std::string>()));
    return source;
  }
  JsonReader reader(value, context.source, prefix + ".");
  for (const std::string& text : texts(reader, "path", "the path of a file")) {
    if (text.empty()) reader.problem("path", "is empty, expected the path of a file");
    source.paths.push_back(context.resolve(text));
  }
  if (source.paths.empty()) reader.problem("path", "is missing, expected the path of a file or a list of paths");
  if (source.paths.size() > mostPaths)
    reader.problem("path", fmt::format("lists {} files, at most {} are expected", source.paths.size(), mostPaths));
  source.format = readChoice(reader, "format", source.format, dataFormatWords);
  source.textField = reader.text("text_field", source.textField);
  source.separator = reader.text("separator", source.separator);
  source.sets = texts(reader, "sets", "the name of a set");
  const auto isFor = [&](const char* key, bool meant, const char* format) {
    if (source.format == DataFormat::Auto || meant || !reader.has(key)) return;
    reader.problem(key, fmt::format("is for {}, but format is {}: remove one of them", format,
                                    wordOf(std::span<const ChoiceWord<DataFormat>>(dataFormatWords), source.format)));
  };
  isFor("text_field", source.format == DataFormat::Jsonl, "format jsonl");
  isFor("separator", source.format == DataFormat::Text, "format txt");
  isFor("sets", source.format != DataFormat::Text, "rows of JSON");
  if (reader.has("weight")) {
    const ProjectField& field = *findProjectField("data.sources.weight");
    source.weight = reader.number("weight", 1, field.leastNumber, field.mostNumber);
  }
  if (source.textField.empty()) reader.problem("text_field", "is empty, expected the name of a field");
  if (source.separator.find('\n') != std::string::npos)
    reader.problem("separator", "holds a line end, expected the text of one line");
  MILLRACE_CHECK(reader.finish());
  return source;
}

} // namespace

Result<ModelSource> readModelSection(const Json& section, const SectionContext& context) {
  JsonReader reader(section, context.source, "model.");
  if (reader.has("folder") == reader.has("config"))
    reader.problem(reader.has("folder") ? "config" : "folder",
                   reader.has("folder") ? "is given beside model.folder: give one of them"
                                        : "or model.config is missing: give a Hugging Face model folder to start from "
                                          "its weights, or a config.json to start from random ones");
  ModelSource model;
  if (reader.has("folder")) {
    model = ModelFolder{path(reader, "folder", context)};
  } else if (const Json& config = reader.value("config"); config.is_object()) {
    model = ModelConfig{{}, config.dump(-1, ' ', false, Json::error_handler_t::replace)};
  } else if (reader.has("config")) {
    if (!config.is_string())
      reader.problem("config", fmt::format("is {}, expected the path of a config.json, or its contents as an object",
                                           config.type_name()));
    else
      model = ModelConfig{path(reader, "config", context), ""};
  }
  MILLRACE_CHECK(reader.finish());
  return model;
}

Result<TokenizerSource> readTokenizerSection(const Json& section, const SectionContext& context) {
  if (section.is_null()) return TokenizerSource(TokenizerOfModel{});
  JsonReader reader(section, context.source, "tokenizer.");
  if (reader.has("file") == reader.has("train"))
    reader.problem("file", reader.has("file") ? "is given beside tokenizer.train: give one of them"
                                              : "or tokenizer.train is missing: give the path of a tokenizer.json, or "
                                                "{\"vocabulary\": 8192} to train one");
  if (reader.has("file")) {
    TokenizerFile tokenizer{path(reader, "file", context)};
    MILLRACE_CHECK(reader.finish());
    return TokenizerSource(tokenizer);
  }
  TokenizerTraining training;
  SectionReader train(reader.object("train"), context, "tokenizer.train.");
  MILLRACE_CHECK(reader.finish());
  if (!train.has("vocabulary")) train.problem("vocabulary", "is missing, expected a number of entries such as 8192");
  training.vocabulary = train.integer("vocabulary", 0);
  training.bytes = train.bytes("bytes", training.bytes);
  if (training.bytes < 1) train.problem("bytes", "is 0, expected how much text to learn from, for example 64MiB");
  MILLRACE_CHECK(train.finish());
  return TokenizerSource(training);
}

namespace {

Result<ChatConfig> readChat(const Json& section, const SectionContext& context) {
  ChatConfig chat;
  JsonReader reader(section, context.source, "data.chat.");
  if (reader.has("template") && reader.has("built_in"))
    reader.problem("built_in", "is given beside data.chat.template: give one of them");
  if (reader.has("template")) chat.templateFile = path(reader, "template", context);
  chat.builtInTemplate = reader.text("built_in", "");
  chat.learn = readChoice(reader, "learn", chat.learn, learnFromWords);
  chat.overLong = readChoice(reader, "over_long", chat.overLong, overLongWords);
  MILLRACE_CHECK(reader.finish());
  return chat;
}

} // namespace

Result<DataConfig> readDataSection(const Json& section, const SectionContext& context) {
  DataConfig data;
  SectionReader reader(section, context, "data.");
  const Json& sources = reader.value("sources");
  if (sources.is_array()) {
    if (sources.size() > mostPaths)
      reader.problem("sources", fmt::format("lists {} sources, at most {} are expected", sources.size(), mostPaths));
    MILLRACE_CHECK(reader.status());
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (!sources[i].is_string() && !sources[i].is_object())
        return badInput(fmt::format("{}: data.sources.{} is {}, expected a path or an object with a path",
                                    context.source, i, sources[i].type_name()),
                        fmt::format("data.sources.{}", i));
      MILLRACE_TRY(auto source, readSource(sources[i], fmt::format("data.sources.{}", i), context));
      data.sources.push_back(std::move(source));
    }
  } else if (sources.is_object() || sources.is_string()) {
    MILLRACE_TRY(auto source, readSource(sources, "data.sources", context));
    data.sources.push_back(std::move(source));
  } else if (!sources.is_null()) {
    reader.problem("sources", fmt::format("is {}, expected a path, an object with a path, or a list of these",
                                          sources.type_name()));
  }
  for (std::size_t i = 1; i < data.sources.size(); ++i)
    if (data.sources[i].weight.has_value() != data.sources[0].weight.has_value())
      reader.problem(fmt::format("sources.{}.weight", data.sources[i].weight ? 0 : i),
                     "is missing, but another source has a weight: give each source one, or none");
  if (data.sources.empty()) reader.problem("sources", "is missing, expected the text to learn from");
  data.validationFraction = reader.number("validation_fraction", data.validationFraction);
  if (reader.has("cache")) data.cache = path(reader, "cache", context);
  data.badRows = reader.integer("bad_rows", data.badRows);
  MILLRACE_TRY(data.chat, readChat(reader.object("chat"), context));
  MILLRACE_CHECK(reader.finish());
  return data;
}

Result<MemoryConfig> readMemorySection(const Json& section, const SectionContext& context) {
  MemoryConfig memory;
  JsonReader reader(section, context.source, "memory.");
  memory.vramLimit = reader.bytes("vram_limit", memory.vramLimit);
  memory.ramLimit = reader.bytes("ram_limit", memory.ramLimit);
  memory.placement = readChoice(reader, "placement", memory.placement, placementWords);
  const Json& nvme = reader.object("nvme");
  MILLRACE_CHECK(reader.finish());
  JsonReader nvmeReader(nvme, context.source, "memory.nvme.");
  const Json& directories = nvmeReader.value("directories");
  if (directories.is_array()) {
    for (const Json& directory : directories)
      if (directory.is_string() && !directory.get<std::string>().empty())
        memory.nvme.directories.push_back(context.resolve(directory.get<std::string>()));
      else
        nvmeReader.problem("directories", "holds something that is no path");
  } else if (!directories.is_null()) {
    nvmeReader.problem("directories", fmt::format("is {}, expected a list of folders", directories.type_name()));
  }
  memory.nvme.limit = nvmeReader.bytes("limit", memory.nvme.limit);
  memory.nvme.shardSize = nvmeReader.bytes("shard_size", memory.nvme.shardSize);
  if (memory.nvme.shardSize < NvmeConfig::leastShardSize)
    nvmeReader.problem("shard_size", fmt::format("is {}, expected {} or more", formatBytes(memory.nvme.shardSize),
                                                 formatBytes(NvmeConfig::leastShardSize)));
  MILLRACE_CHECK(nvmeReader.finish());
  return memory;
}

Result<CheckpointConfig> readCheckpointSection(const Json& section, const SectionContext& context) {
  CheckpointConfig checkpoint;
  SectionReader reader(section, context, "checkpoint.");
  checkpoint.every = reader.integer("every", checkpoint.every);
  checkpoint.everyMinutes = reader.number("every_minutes", checkpoint.everyMinutes);
  checkpoint.keep = reader.integer("keep", checkpoint.keep);
  checkpoint.keepBest = reader.boolean("keep_best", checkpoint.keepBest);
  MILLRACE_CHECK(reader.finish());
  return checkpoint;
}

Result<EvaluationConfig> readEvaluationSection(const Json& section, const SectionContext& context) {
  EvaluationConfig evaluation;
  SectionReader reader(section, context, "evaluation.");
  evaluation.every = reader.integer("every", evaluation.every);
  evaluation.rows = reader.integer("rows", evaluation.rows);
  evaluation.earlyStop = reader.integer("early_stop", evaluation.earlyStop);
  if (evaluation.earlyStop > 0 && evaluation.every == 0)
    reader.problem("early_stop", "needs evaluations during training: set evaluation.every to a number of steps");
  MILLRACE_CHECK(reader.finish());
  return evaluation;
}

Result<SamplesConfig> readSamplesSection(const Json& section, const SectionContext& context) {
  SamplesConfig samples;
  SectionReader reader(section, context, "samples.");
  samples.every = reader.integer("every", samples.every);
  samples.prompts = texts(reader, "prompts", "a text");
  samples.tokens = reader.integer("tokens", samples.tokens);
  samples.temperature = reader.number("temperature", samples.temperature);
  samples.topK = reader.integer("top_k", samples.topK);
  samples.topP = reader.number("top_p", samples.topP);
  samples.seed = reader.integer("seed", samples.seed);
  if (samples.every > 0 && samples.prompts.empty())
    reader.problem("every",
                   "asks for samples, but samples.prompts is empty: give at least one prompt (it may be \"\")");
  MILLRACE_CHECK(reader.finish());
  return samples;
}

} // namespace millrace

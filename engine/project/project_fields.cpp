#include "engine/project_fields.h"

#include "base/json_reader.h"
#include "project/choices.h"
#include "project/project_file.h"

#include <algorithm>
#include <optional>

namespace millrace {

namespace {

/// The largest count of steps or rows that a file may name.
constexpr std::int64_t manySteps = 1'000'000'000'000;
constexpr bool advanced = true;
constexpr bool basic = false;

/// Gathers the table; defaults come from the values that engine/project.h initialises.
class FieldTable {
 public:
  std::vector<ProjectField> take() { return std::move(m_fields); }

  void integer(bool level, std::string key, std::optional<std::int64_t> fallback, std::int64_t least, std::int64_t most,
               std::string unit, std::string meaning) {
    ProjectField& field = add(level, std::move(key), FieldKind::Integer, std::move(meaning));
    if (fallback) field.fallback = std::to_string(*fallback);
    field.least = least;
    field.most = most;
    field.unit = std::move(unit);
  }
  void number(bool level, std::string key, std::optional<double> fallback, double least, double most, std::string unit,
              std::string meaning) {
    ProjectField& field = add(level, std::move(key), FieldKind::Number, std::move(meaning));
    if (fallback) field.fallback = Json(*fallback).dump();
    field.leastNumber = least;
    field.mostNumber = most;
    field.unit = std::move(unit);
  }
  void bytes(bool level, std::string key, Bytes fallback, Bytes least, std::string meaning) {
    ProjectField& field = add(level, std::move(key), FieldKind::Size, std::move(meaning));
    field.fallback = std::to_string(fallback);
    field.least = least;
    field.most = INT64_MAX;
  }
  void boolean(bool level, std::string key, bool fallback, std::string meaning) {
    add(level, std::move(key), FieldKind::Boolean, std::move(meaning)).fallback = fallback ? "true" : "false";
  }
  template <class T, std::size_t N>
  void choice(bool level, std::string key, T fallback, const ChoiceWord<T> (&words)[N], std::string meaning) {
    const std::span<const ChoiceWord<T>> table(words);
    ProjectField& field = add(level, std::move(key), FieldKind::Choice, std::move(meaning));
    field.fallback = Json(wordOf(table, fallback)).dump();
    field.words = wordsOf(table);
  }
  void text(bool level, std::string key, std::optional<std::string> fallback, std::vector<std::string> suggestions,
            std::string meaning) {
    ProjectField& field = add(level, std::move(key), FieldKind::Text, std::move(meaning));
    if (fallback) field.fallback = Json(*fallback).dump();
    field.words = std::move(suggestions);
  }
  /// Files, folders and lists: nothing is named by default.
  ProjectField& add(bool level, std::string key, FieldKind kind, std::string meaning) {
    ProjectField field;
    field.key = std::move(key);
    field.kind = kind;
    field.meaning = std::move(meaning);
    field.advanced = level;
    return m_fields.emplace_back(std::move(field));
  }

 private:
  std::vector<ProjectField> m_fields;
};

void addModelAndData(FieldTable& table, const Project& project) {
  table.integer(basic, "format", std::nullopt, 1, projectFormat, "", "Version of the file's format.");
  table.text(basic, "name", std::nullopt, {}, "Name of the run; the file's name if it is not given.");
  table.add(basic, "model.folder", FieldKind::Folder, "A Hugging Face model folder; training starts from its weights.");
  table.add(basic, "model.config", FieldKind::File,
            "A config.json, its path or its contents; training starts from random weights.");
  table.add(basic, "tokenizer.file", FieldKind::File, "A tokenizer.json; the model folder's if it is not given.");
  table.integer(basic, "tokenizer.train.vocabulary", std::nullopt, 257, 1 << 24, "entries",
                "Train a byte-level BPE tokenizer with so many entries on the data.");
  table.bytes(basic, "tokenizer.train.bytes", TokenizerTraining().bytes, 1,
              "How much text the tokenizer learns from, at most.");
  table.add(basic, "data.sources", FieldKind::Sources, "The text to learn from.");
  table.add(basic, "data.sources.path", FieldKind::Files, "A file or several, read in this order.");
  table.choice(basic, "data.sources.format", DataSourceSpec().format, dataFormatWords,
               "What the files are; auto goes by a file's ending and its first rows.");
  table.text(basic, "data.sources.text_field", DataSourceSpec().textField, {},
             "Which field of each object of a .jsonl holds the text.");
  table.number(advanced, "data.sources.weight", std::nullopt, 1e-9, 1e9, "",
               "Share of tokens that is drawn from this source, in proportion to the others'; without weights sources "
               "count by their sizes.");
  table.text(basic, "data.sources.separator", DataSourceSpec().separator, {},
             "A line that ends a document in a .txt; empty: a file is one document.");
  table.add(advanced, "data.sources.sets", FieldKind::Texts,
            "Only rows whose meta.pile_set_name is one of these; empty: all.");
  table.number(basic, "data.validation_fraction", project.data.validationFraction, 0, 0.5, "",
               "Share of the documents that are held out to measure the loss on.");
  table.add(advanced, "data.cache", FieldKind::Folder, "Folder for token files, which runs share.");
  table.integer(advanced, "data.bad_rows", project.data.badRows, 0, manySteps, "rows",
                "How many unreadable rows are skipped before reading gives up.");
  table.add(basic, "data.chat.template", FieldKind::File,
            "A Jinja template that conversations are written by; the model's if it is not given.");
  table.text(basic, "data.chat.built_in", std::nullopt, {"chatml", "llama3", "llama2", "plain"},
             "Or a built-in template, for models that have none.");
  table.choice(basic, "data.chat.learn", project.data.chat.learn, learnFromWords,
               "What of a conversation is learnt from: what assistants say, the last such turn, or every token.");
  table.choice(basic, "data.chat.over_long", project.data.chat.overLong, overLongWords,
               "What becomes of conversations longer than the context: their beginning, parts split between turns, "
               "nothing.");
}

void addTraining(FieldTable& table, const TrainingConfig& training) {
  table.integer(basic, "training.steps", std::nullopt, 1, manySteps, "steps", "How many optimizer steps to train.");
  table.integer(basic, "training.tokens", std::nullopt, 1, 1'000'000'000'000'000, "tokens",
                "How many tokens to train on.");
  table.number(basic, "training.epochs", std::nullopt, 1e-6, 1e6, "epochs", "How often to train on the whole data.");
  table.number(basic, "training.hours", std::nullopt, 1e-6, 1e6, "hours", "How long to train.");
  table.choice(basic, "training.recipe", training.recipe, recipeWords,
               "What the training is for, which sets the optimizer's defaults: to learn from scratch, or to change all "
               "weights of a trained model a little.");
  table.integer(basic, "training.context", training.context, 2, 1 << 24, "tokens",
                "Length of a row, at most what the model was made for.");
  table.integer(basic, "training.micro_batch", training.microBatch, 1, 1 << 16, "rows",
                "How many rows are computed at once.");
  table.integer(basic, "training.micro_batches", training.microBatches, 1, 1 << 20, "micro-batches",
                "How many micro-batches make one optimizer step.");
  table.integer(basic, "training.tokens_per_step", std::nullopt, 2, std::int64_t{1} << 60, "tokens",
                "How many tokens make one optimizer step: a multiple of micro-batch x context.");
  table.choice(basic, "training.precision", training.precision, precisionWords,
               "What the model computes in: fp32; tf32, where a GPU multiplies with 10 bits of fraction; bf16, with an "
               "fp32 master of the weights.");
  table.choice(advanced, "training.clip", training.clip, clipModeWords,
               "How gradients wait for the norm of the whole step: in fp32 (exact), in bf16, or not at all (off).");
  table.number(advanced, "training.max_grad_norm", training.maxGradNorm, 1e-9, 1e9, "",
               "Norm above which gradients are scaled down.");
  table.choice(advanced, "training.recompute", training.recompute, recomputePolicyWords,
               "What is computed again in the backward pass, which saves device memory.");
  table.integer(advanced, "training.schedule_group", training.scheduleGroup, 0, 1 << 20, "micro-batches",
                "How many micro-batches visit a layer before the next layer's turn; 0: all of the step.");
  table.integer(advanced, "training.slots", training.slots, 2, 3, "layers",
                "How many layers' worth of streamed weights the device holds.");
  table.choice(advanced, "training.offload_activations", training.offloadActivations, switchWords,
               "Whether inputs kept for the backward pass move to host memory.");
  table.boolean(advanced, "training.overlap", training.overlap, "Copies and the host's optimizer run beside compute.");
  table.number(basic, "training.learning_rate", training.learningRate, 0, 10, "",
               "The peak of the learning rate; with the recipe fine-tune 1e-5 by default.");
  table.choice(basic, "training.schedule", training.schedule, scheduleShapeWords,
               "How the learning rate goes after the warm-up; wsd: it stays, then decays.");
  table.integer(basic, "training.warmup_steps", std::nullopt, 0, manySteps, "steps",
                "Steps in which the learning rate rises to its peak; 100 if not given, a tenth of short runs.");
  table.number(advanced, "training.min_learning_rate_ratio", training.minLearningRateRatio, 0, 1, "",
               "Where the schedule ends, as a share of the peak; with the recipe fine-tune 0 by default.");
  table.number(advanced, "training.decay_fraction", training.decayFraction, 0, 1, "",
               "With wsd: the last share of the run, in which the rate decays.");
  constexpr double mostBeta = 0.9999999;
  table.number(advanced, "training.beta1", training.beta1, 0, mostBeta, "", "How slowly AdamW's mean forgets.");
  table.number(advanced, "training.beta2", training.beta2, 0, mostBeta, "",
               "How slowly AdamW's variance forgets; with the recipe fine-tune 0.999 by default.");
  table.number(advanced, "training.epsilon", training.epsilon, 1e-30, 1, "",
               "What AdamW adds to the root of the variance.");
  table.number(basic, "training.weight_decay", training.weightDecay, 0, 1000, "",
               "How strongly matrices are pulled to zero; with the recipe fine-tune 0 by default.");
  table.integer(advanced, "training.max_bad_steps", training.maxBadSteps, 1, 1'000'000, "steps",
                "How many steps in a row may fail to be finite before the run stops.");
  table.integer(basic, "training.seed", training.seed, 0, INT64_MAX, "", "Of weights and data order.");
  table.integer(advanced, "training.threads", training.threads, 0, 4096, "threads",
                "Compute threads; 0: all usable cores.");
  table.text(basic, "training.device", training.device, {"auto", "cpu", "cuda:0"},
             "What computes: auto, cpu, or a GPU by its number.");
  table.integer(advanced, "training.head_chunk", training.headChunk, 1, 1 << 24, "tokens",
                "How many tokens' logits exist at one time.");
}

void addMemory(FieldTable& table, const MemoryConfig& memory) {
  table.bytes(basic, "memory.vram_limit", memory.vramLimit, 0, "Device memory to use at most; 0: what is free.");
  table.bytes(basic, "memory.ram_limit", memory.ramLimit, 0, "Host memory to use at most; 0: what is free.");
  table.choice(basic, "memory.placement", memory.placement, placementWords,
               "Where state lives: streamed from RAM, weights on the device, everything there, or as the planner finds "
               "best.");
  table.add(basic, "memory.nvme.directories", FieldKind::Folders,
            "Folders, one a drive, where state may live that memory has no room for.");
  table.bytes(basic, "memory.nvme.limit", memory.nvme.limit, 0, "Of each drive, to use at most; 0: what is free.");
  table.bytes(advanced, "memory.nvme.shard_size", memory.nvme.shardSize, NvmeConfig::leastShardSize,
              "Of the files that state is kept in there.");
}

void addDuringTheRun(FieldTable& table, const Project& project) {
  table.integer(basic, "checkpoint.every", project.checkpoint.every, 0, manySteps, "steps",
                "Steps between checkpoints; 0: not by steps.");
  table.number(basic, "checkpoint.every_minutes", project.checkpoint.everyMinutes, 0, 1e6, "minutes",
               "Minutes between checkpoints; 0: not by time.");
  table.integer(basic, "checkpoint.keep", project.checkpoint.keep, 1, 1'000'000, "checkpoints",
                "How many of the newest checkpoints are kept.");
  table.boolean(basic, "checkpoint.keep_best", project.checkpoint.keepBest,
                "The one with the lowest validation loss is kept as well.");
  table.integer(basic, "evaluation.every", project.evaluation.every, 0, manySteps, "steps",
                "Steps between evaluations on the validation data; 0: only at the end.");
  table.integer(basic, "evaluation.rows", project.evaluation.rows, 0, manySteps, "rows",
                "Rows of validation data that are evaluated, at most; 0: all.");
  table.integer(basic, "evaluation.early_stop", project.evaluation.earlyStop, 0, 1'000'000, "evaluations",
                "Evaluations in a row without a lower loss that end the run; 0: off.");
  table.add(basic, "samples.prompts", FieldKind::Texts, "Beginnings of texts, one sample each.");
  table.integer(basic, "samples.every", project.samples.every, 0, manySteps, "steps",
                "Steps between samples; 0: only at the end.");
  table.integer(basic, "samples.tokens", project.samples.tokens, 1, 1'000'000, "tokens", "Length of a sample.");
  table.number(basic, "samples.temperature", project.samples.temperature, 0, 100, "",
               "How freely tokens are drawn; 0 takes the likeliest.");
  table.integer(advanced, "samples.top_k", project.samples.topK, 0, INT32_MAX, "tokens",
                "How many of the likeliest tokens are drawn from; 0: all.");
  table.number(advanced, "samples.top_p", project.samples.topP, 1e-6, 1, "",
               "How much of the probability is drawn from; 1: all.");
  table.integer(advanced, "samples.seed", project.samples.seed, 0, INT64_MAX, "", "Of what is drawn.");
}

std::vector<ProjectField> allFields() {
  const Project defaults;
  FieldTable table;
  addModelAndData(table, defaults);
  addTraining(table, defaults.training);
  addMemory(table, defaults.memory);
  addDuringTheRun(table, defaults);
  return table.take();
}

} // namespace

std::string ProjectField::section() const {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? std::string() : key.substr(0, dot);
}

const std::vector<ProjectField>& projectFields() {
  static const std::vector<ProjectField> fields = allFields();
  return fields;
}

const ProjectField* findProjectField(std::string_view key) {
  const auto& fields = projectFields();
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const ProjectField& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

std::string wordOf(DataFormat format) {
  return wordOf(std::span<const ChoiceWord<DataFormat>>(dataFormatWords), format);
}

std::optional<DataFormat> dataFormatOf(std::string_view word) {
  for (const auto& entry : dataFormatWords)
    if (word == entry.word) return entry.value;
  return std::nullopt;
}

std::vector<std::string> excludedKeys(std::string_view key) {
  static const std::vector<std::vector<std::string>> groups = {
      {"training.steps", "training.tokens", "training.epochs", "training.hours"},
      {"training.tokens_per_step", "training.micro_batches"},
      {"model.folder", "model.config"},
      {"tokenizer.file", "tokenizer.train"},
      {"data.chat.template", "data.chat.built_in"},
  };
  std::vector<std::string> others;
  for (const auto& group : groups)
    if (std::find(group.begin(), group.end(), key) != group.end())
      std::copy_if(group.begin(), group.end(), std::back_inserter(others),
                   [&](const auto& other) { return other != key; });
  return others;
}

} // namespace millrace

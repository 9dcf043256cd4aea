// Project -> JSON. Keys that would have no meaning beside others are left out, as reading refuses them.
#include "project/choices.h"
#include "project/project_file.h"

namespace millrace {

namespace {

template <class T, std::size_t N>
std::string word(const ChoiceWord<T> (&words)[N], T value) {
  return wordOf(std::span<const ChoiceWord<T>>(words), value);
}

Json modelJson(const ModelSource& model) {
  if (const auto* folder = std::get_if<ModelFolder>(&model)) return {{"folder", folder->folder.string()}};
  const auto& config = std::get<ModelConfig>(model);
  if (config.text.empty()) return {{"config", config.file.string()}};
  return {{"config", Json::parse(config.text)}}; // the text of an object, by ModelConfig's contract
}

Json dataJson(const DataConfig& data) {
  Json sources = Json::array();
  for (const DataSourceSpec& source : data.sources) {
    Json paths = Json::array();
    for (const Path& path : source.paths) paths.push_back(path.string());
    Json entry = {{"path", std::move(paths)}, {"format", word(dataFormatWords, source.format)}};
    const bool any = source.format == DataFormat::Auto;
    if (any || source.format == DataFormat::Jsonl) entry["text_field"] = source.textField;
    if (any || source.format == DataFormat::Text) entry["separator"] = source.separator;
    if (source.format != DataFormat::Text && !source.sets.empty()) entry["sets"] = source.sets;
    if (source.weight) entry["weight"] = *source.weight;
    sources.push_back(std::move(entry));
  }
  Json json = {{"sources", std::move(sources)}, {"validation_fraction", data.validationFraction}};
  if (!data.cache.empty()) json["cache"] = data.cache.string();
  json["bad_rows"] = data.badRows;
  Json chat = {{"learn", word(learnFromWords, data.chat.learn)},
               {"over_long", word(overLongWords, data.chat.overLong)}};
  if (!data.chat.builtInTemplate.empty()) chat["built_in"] = data.chat.builtInTemplate;
  if (!data.chat.templateFile.empty()) chat["template"] = data.chat.templateFile.string();
  json["chat"] = std::move(chat);
  return json;
}

Json trainingJson(const TrainingConfig& training) {
  Json json = Json::object();
  const std::string unit = word(lengthUnitWords, training.length.unit);
  if (training.length.unit == LengthUnit::Steps || training.length.unit == LengthUnit::Tokens)
    json[unit] = static_cast<std::int64_t>(training.length.amount);
  else
    json[unit] = training.length.amount;
  json["recipe"] = word(recipeWords, training.recipe);
  json["micro_batch"] = training.microBatch;
  json["micro_batches"] = training.microBatches;
  json["context"] = training.context;
  json["precision"] = word(precisionWords, training.precision);
  json["clip"] = word(clipModeWords, training.clip);
  if (training.clip != ClipMode::Off) json["max_grad_norm"] = training.maxGradNorm;
  json["recompute"] = word(recomputePolicyWords, training.recompute);
  json["schedule_group"] = training.scheduleGroup;
  json["slots"] = training.slots;
  json["offload_activations"] = word(switchWords, training.offloadActivations);
  json["overlap"] = training.overlap;
  json["seed"] = training.seed;
  json["learning_rate"] = training.learningRate;
  json["schedule"] = word(scheduleShapeWords, training.schedule);
  if (training.schedule != ScheduleShape::Constant) json["min_learning_rate_ratio"] = training.minLearningRateRatio;
  if (training.warmupSteps) json["warmup_steps"] = *training.warmupSteps;
  if (training.schedule == ScheduleShape::Wsd) json["decay_fraction"] = training.decayFraction;
  json["beta1"] = training.beta1;
  json["beta2"] = training.beta2;
  json["epsilon"] = training.epsilon;
  json["weight_decay"] = training.weightDecay;
  json["max_bad_steps"] = training.maxBadSteps;
  json["threads"] = training.threads;
  json["device"] = training.device;
  json["head_chunk"] = training.headChunk;
  return json;
}

} // namespace

Json projectToJson(const Project& project) {
  Json json = {{"format", projectFormat}, {"name", project.name}, {"model", modelJson(project.model)}};
  if (const auto* file = std::get_if<TokenizerFile>(&project.tokenizer))
    json["tokenizer"] = {{"file", file->file.string()}};
  else if (const auto* train = std::get_if<TokenizerTraining>(&project.tokenizer))
    json["tokenizer"] = {{"train", {{"vocabulary", train->vocabulary}, {"bytes", train->bytes}}}};
  json["data"] = dataJson(project.data);
  json["training"] = trainingJson(project.training);
  Json directories = Json::array();
  for (const Path& directory : project.memory.nvme.directories) directories.push_back(directory.string());
  json["memory"] = {{"vram_limit", project.memory.vramLimit},
                    {"ram_limit", project.memory.ramLimit},
                    {"placement", word(placementWords, project.memory.placement)},
                    {"nvme",
                     {{"directories", std::move(directories)},
                      {"limit", project.memory.nvme.limit},
                      {"shard_size", project.memory.nvme.shardSize}}}};
  json["checkpoint"] = {{"every", project.checkpoint.every},
                        {"every_minutes", project.checkpoint.everyMinutes},
                        {"keep", project.checkpoint.keep},
                        {"keep_best", project.checkpoint.keepBest}};
  json["evaluation"] = {{"every", project.evaluation.every},
                        {"rows", project.evaluation.rows},
                        {"early_stop", project.evaluation.earlyStop}};
  json["samples"] = {{"every", project.samples.every},   {"prompts", project.samples.prompts},
                     {"tokens", project.samples.tokens}, {"temperature", project.samples.temperature},
                     {"top_k", project.samples.topK},    {"top_p", project.samples.topP},
                     {"seed", project.samples.seed}};
  return json;
}

} // namespace millrace

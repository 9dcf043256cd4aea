// The "training" part of a project file.
#include "project/project_sections.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace millrace {

namespace {

void readLength(SectionReader& reader, TrainingConfig& training) {
  const char* given = nullptr;
  for (const auto& [word, unit] : lengthUnitWords) {
    if (!reader.has(word)) continue;
    if (given) {
      reader.problem(word, fmt::format("is given beside training.{}: give one of steps, tokens, epochs, hours", given));
      return;
    }
    given = word;
    training.length.unit = unit;
    if (unit == LengthUnit::Steps)
      training.length.amount = static_cast<double>(reader.integer(word, 0));
    else if (unit == LengthUnit::Tokens) // all of these are exact in a double
      training.length.amount = static_cast<double>(reader.integer(word, 0));
    else
      training.length.amount = reader.number(word, 0);
  }
  if (!given) reader.problem("steps", "is missing: say how long to train by one of steps, tokens, epochs, hours");
}

void readBatch(SectionReader& reader, TrainingConfig& training) {
  training.microBatch = reader.integer("micro_batch", training.microBatch);
  training.context = reader.integer("context", training.context);
  training.microBatches = reader.integer("micro_batches", training.microBatches);
  const std::int64_t tokens = reader.integer("tokens_per_step", 0);
  if (!reader.has("tokens_per_step")) return;
  if (reader.has("micro_batches"))
    reader.problem("tokens_per_step", "is given beside training.micro_batches: give one of them");
  const std::int64_t each = training.microBatch * training.context;
  if (tokens % each != 0) {
    const std::int64_t below = tokens / each * each;
    reader.problem("tokens_per_step",
                   fmt::format("is {}, expected a multiple of micro_batch x context = {} x {} = {}: the nearest {} {}",
                               tokens, training.microBatch, training.context, each, below > 0 ? "are" : "is",
                               below > 0 ? fmt::format("{} and {}", below, below + each) : fmt::format("{}", each)));
  }
  const std::int64_t mostMicroBatches = findProjectField("training.micro_batches")->most;
  training.microBatches = std::max<std::int64_t>(tokens / each, 1);
  if (training.microBatches > mostMicroBatches)
    reader.problem("tokens_per_step",
                   fmt::format("makes {} micro-batches a step, at most {} are expected: raise training.micro_batch",
                               training.microBatches, mostMicroBatches));
}

void readOptimizer(SectionReader& reader, TrainingConfig& training) {
  training.learningRate = reader.number("learning_rate", training.learningRate);
  training.schedule = readChoice(reader, "schedule", training.schedule, scheduleShapeWords);
  training.minLearningRateRatio = reader.number("min_learning_rate_ratio", training.minLearningRateRatio);
  if (training.schedule == ScheduleShape::Constant && reader.has("min_learning_rate_ratio"))
    reader.problem("min_learning_rate_ratio",
                   "has no meaning with training.schedule constant: remove it or choose linear, cosine or wsd");
  training.decayFraction = reader.number("decay_fraction", training.decayFraction);
  if (training.schedule != ScheduleShape::Wsd && reader.has("decay_fraction"))
    reader.problem("decay_fraction", "has a meaning with training.schedule wsd alone: remove it or choose wsd");
  const bool bySteps = training.length.unit == LengthUnit::Steps;
  const auto steps = static_cast<std::int64_t>(bySteps ? training.length.amount : 0);
  if (reader.has("warmup_steps")) training.warmupSteps = reader.integer("warmup_steps", 0);
  if (bySteps && training.warmupSteps.value_or(0) > steps)
    reader.problem("warmup_steps",
                   fmt::format("is {}, more than training.steps, which is {}", *training.warmupSteps, steps));
  training.beta1 = reader.number("beta1", training.beta1);
  training.beta2 = reader.number("beta2", training.beta2);
  training.epsilon = reader.number("epsilon", training.epsilon);
  training.weightDecay = reader.number("weight_decay", training.weightDecay);
  if (training.learningRate * training.weightDecay >= 1)
    reader.problem("weight_decay",
                   fmt::format("is {}, but learning_rate x weight_decay must stay below 1, and it is {}",
                               training.weightDecay, training.learningRate * training.weightDecay));
  training.clip = readChoice(reader, "clip", training.clip, clipModeWords);
  training.maxGradNorm = reader.number("max_grad_norm", training.maxGradNorm);
  if (training.clip == ClipMode::Off && reader.has("max_grad_norm"))
    reader.problem("max_grad_norm", "has no meaning with training.clip off: remove one of them");
  training.maxBadSteps = reader.integer("max_bad_steps", training.maxBadSteps);
}

bool isDeviceName(const std::string& name) {
  if (name == "auto" || name == "cpu") return true;
  if (name.substr(0, 5) != "cuda:") return false;
  int index = 0;
  const char* const last = name.data() + name.size();
  const auto [end, code] = std::from_chars(name.data() + 5, last, index);
  return code == std::errc() && end == last && index >= 0;
}

} // namespace

void applyRecipe(TrainingConfig& training, Recipe recipe) {
  const TrainingConfig pretrain;
  training.recipe = recipe;
  const bool fineTune = recipe == Recipe::FineTune;
  // A trained model is kept near where it is: steps some thirty times smaller, down to none at the end, and no decay,
  // which would pull its weights away from what they have learnt. The longer memory of the variance (AdamW's usual one)
  // suits gradients that are small and even from the start.
  training.learningRate = fineTune ? 1e-5 : pretrain.learningRate;
  training.schedule = fineTune ? ScheduleShape::Cosine : pretrain.schedule;
  training.minLearningRateRatio = fineTune ? 0 : pretrain.minLearningRateRatio;
  training.beta1 = pretrain.beta1;
  training.beta2 = fineTune ? 0.999 : pretrain.beta2;
  training.weightDecay = fineTune ? 0 : pretrain.weightDecay;
}

Result<TrainingConfig> readTrainingSection(const Json& section, const SectionContext& context) {
  TrainingConfig training;
  SectionReader reader(section, context, "training.");
  readLength(reader, training);
  applyRecipe(training, readChoice(reader, "recipe", training.recipe, recipeWords));
  readBatch(reader, training);
  readOptimizer(reader, training);
  training.precision = readChoice(reader, "precision", training.precision, precisionWords);
  training.recompute = readChoice(reader, "recompute", training.recompute, recomputePolicyWords);
  training.scheduleGroup = reader.integer("schedule_group", training.scheduleGroup);
  if (training.scheduleGroup > training.microBatches)
    reader.problem("schedule_group", fmt::format("is {}, more than the {} micro-batches of a step: use 0 for all",
                                                 training.scheduleGroup, training.microBatches));
  training.slots = reader.integer("slots", training.slots);
  training.offloadActivations = readChoice(reader, "offload_activations", training.offloadActivations, switchWords);
  training.overlap = reader.boolean("overlap", training.overlap);
  training.seed = reader.integer("seed", training.seed);
  training.threads = reader.integer("threads", training.threads);
  training.device = reader.text("device", training.device);
  if (!isDeviceName(training.device))
    reader.problem("device", fmt::format("is '{}', expected auto, cpu or cuda:N, for example cuda:0", training.device));
  training.headChunk = reader.integer("head_chunk", training.headChunk);
  MILLRACE_CHECK(reader.finish());
  return training;
}

} // namespace millrace

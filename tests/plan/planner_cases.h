// What the tests of the planner share: small models, rates and limits drawn at random, and every placement there is.
#pragma once

#include "base/random.h"
#include "engine/model_presets.h"
#include "plan/placement_search.h"
#include "plan/planner.h"
#include "train/small_models.h"

#include <QTest>
#include <cmath>
#include <fmt/format.h>
#include <regex>

namespace millrace::test {

constexpr std::int64_t microBatches = 4;

inline RunShape baseShape(Precision precision = Precision::Fp32, ClipMode clip = ClipMode::Exact) {
  RunShape shape;
  shape.rows = 2;
  shape.context = 20;
  shape.microBatches = microBatches;
  shape.group = microBatches;
  shape.precision = precision;
  shape.clip = clip;
  shape.headChunk = 13;
  return shape;
}

inline ModelSpec modelOf(const QString& family, std::int64_t layers, std::int64_t vocabulary) {
  ModelSpec spec = smallModel(family.toStdString(), layers);
  spec.vocabulary = vocabulary;
  return spec;
}

inline ModelSpec preset(const char* name) {
  const ModelConfig config = valueOrThrow(presetConfig(name));
  return valueOrThrow(modelSpecFromConfig(Json::parse(config.text), name));
}

/// Rates at which every kind of a step's work takes between a tenth of a second and ten seconds.
inline StepRates randomRates(const ModelSpec& spec, const RunShape& shape, bool cpu, Random& random) {
  const MemoryLayout layout(spec, shape);
  const StepCount count(layout);
  const StepWork host = count.work(std::vector<UnitHome>(spec.layers.size() + 1, UnitHome::Host));
  const StepWork disk = count.work(std::vector<UnitHome>(spec.layers.size() + 1, UnitHome::Disk));
  const auto rate = [&](double work) { return work / std::pow(10.0, 2 * random.uniform() - 1); };
  StepRates rates;
  rates.products = rate(host.forward.products + host.backward.products);
  rates.attention = rates.products * 0.4;
  rates.deviceMemory = rate(10 * (host.forward.deviceBytes + host.backward.deviceBytes));
  rates.in = rate(host.forward.in + host.backward.in);
  rates.out = rates.in * (0.8 + 0.4 * random.uniform());
  rates.both = rates.in * (1.1 + 0.8 * random.uniform());
  rates.update = rate(host.hostUpdates);
  rates.updateBesideCopies = rates.update * (0.6 + 0.4 * random.uniform());
  rates.deviceUpdate = cpu ? rates.update : rates.update * 20;
  rates.diskRead = rate(disk.forward.diskRead + disk.backward.diskRead);
  rates.diskWrite = rates.diskRead * (0.3 + random.uniform());
  if (random.below(2) == 0) rates.hostMemory = rate(adamWTraffic * host.hostUpdates);
  rates.sharedCores = cpu;
  rates.threads = 4;
  return rates;
}

struct Option {
  TierTotals totals;
  double seconds = 0;
};

/// All homes of a model's units that the engine has: nothing is won by a disk for a tied head, whose matrix is among
/// the tables.
inline std::vector<std::vector<UnitHome>> allHomes(const ModelSpec& spec) {
  std::vector<std::vector<UnitHome>> all{{}};
  for (std::size_t unit = 0; unit <= spec.layers.size(); ++unit) {
    std::vector<std::vector<UnitHome>> longer;
    for (const std::vector<UnitHome>& homes : all)
      for (std::size_t home = 0; home < unitHomes; ++home) {
        if (unit == spec.layers.size() && spec.tiedEmbeddings && onDisk(static_cast<UnitHome>(home))) continue;
        longer.push_back(homes);
        longer.back().push_back(static_cast<UnitHome>(home));
      }
    all = std::move(longer);
  }
  return all;
}

/// Every group size, recompute policy and way of keeping activations.
inline std::vector<RunShape> allShapes(const RunShape& base) {
  std::vector<RunShape> shapes;
  for (std::int64_t group = 1; group <= base.microBatches; ++group)
    for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
      for (const int slots : {0, 3, 4}) {
        RunShape shape = base;
        shape.group = group;
        shape.recompute = policy;
        shape.offloadActivations = slots > 0;
        shape.activationSlots = slots;
        shapes.push_back(shape);
      }
  return shapes;
}

inline std::vector<Option> allOptions(const ModelSpec& spec, const std::vector<RunShape>& shapes,
                                      const std::vector<std::vector<UnitHome>>& homes, const StepRates& rates,
                                      bool split) {
  std::vector<Option> options;
  const auto layers = static_cast<std::int64_t>(spec.layers.size());
  for (RunShape shape : shapes)
    for (const int updateSlots : {0, 3}) { // AdamW can be split where there is room for that
      if (updateSlots > 0 && (!split || shape.clip == ClipMode::Off)) continue;
      shape.updateSlots = updateSlots;
      const bool holds = shape.clip == ClipMode::Off && !rates.sharedCores;
      for (shape.heldLayers = 0; shape.heldLayers <= (holds ? layers : 0); ++shape.heldLayers) {
        const MemoryLayout layout(spec, shape);
        const StepCount count(layout);
        for (const std::vector<UnitHome>& placed : homes)
          if (shape.heldLayers == 0 || layout.counts(placed).held == shape.heldLayers)
            options.push_back({layout.totals(placed), predictStep(count.work(placed), rates, updateSlots > 0).seconds});
      }
      shape.heldLayers = 0;
    }
  return options;
}

inline double bestOf(const std::vector<Option>& options, const TierTotals& limits) {
  double best = INFINITY;
  for (const Option& option : options)
    if (option.seconds < best && within(option.totals, limits)) best = option.seconds;
  return best;
}

/// Tiers of up to the sizes of some option, or a little more; no disk every third time.
inline TierTotals randomLimits(const std::vector<Option>& options, Random& random) {
  TierTotals limits;
  for (const MemoryTier tier : {MemoryTier::Device, MemoryTier::Host, MemoryTier::Disk}) {
    const Bytes bytes = options[random.below(options.size())].totals[tier];
    limits[tier] =
        bytes + static_cast<Bytes>(static_cast<double>(bytes) * (0.1 - 0.6 * random.uniform() * random.uniform()));
  }
  if (random.below(3) == 0) limits[MemoryTier::Disk] = 0;
  return limits;
}

inline PlanRequest requestOf(const RunShape& shape, const StepRates& rates, const TierTotals& limits) {
  PlanRequest request;
  request.shape = shape;
  request.rates = rates;
  request.deviceLimit = limits[MemoryTier::Device];
  request.hostLimit = limits[MemoryTier::Host];
  request.diskLimit = limits[MemoryTier::Disk];
  return request;
}

/// The number of bytes that a message names, and of which tier.
struct Shortfall {
  MemoryTier tier = MemoryTier::Disk;
  Bytes bytes = -1;
};

inline Shortfall shortfallOf(const Result<PlannedStep>& planned) {
  if (planned || planned.error().kind != ErrorKind::DoesNotFit) return {};
  const std::string& message = planned.error().message;
  std::smatch found;
  if (!std::regex_search(message, found, std::regex(R"(\((\d+) bytes\))"))) return {};
  return {message.starts_with("device") ? MemoryTier::Device : MemoryTier::Host, std::stoll(found[1])};
}

inline std::string describe(const PlanRequest& request) {
  return fmt::format("limits {} {} {}", request.deviceLimit, request.hostLimit, request.diskLimit);
}

inline void addModels() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("layers");
  QTest::addColumn<int>("vocabulary");
  QTest::addColumn<bool>("cpu");
  QTest::addColumn<int>("precision");
  QTest::addColumn<int>("clip");
  const auto row = [](const char* family, int layers, int vocabulary, bool cpu, Precision precision, ClipMode clip) {
    QTest::newRow(fmt::format("{}, {} layers, {} tokens, {}, {}, clip {}", family, layers, vocabulary,
                              cpu ? "CPU" : "GPU", toString(precision), toString(clip))
                      .c_str())
        << QString(family) << layers << vocabulary << cpu << static_cast<int>(precision) << static_cast<int>(clip);
  };
  row("llama", 3, 97, false, Precision::Bf16, ClipMode::Exact);
  row("llama", 3, 2000, true, Precision::Fp32, ClipMode::Exact);
  row("llama", 4, 2000, false, Precision::Bf16, ClipMode::ExactBf16);
  row("llama", 5, 97, false, Precision::Fp32, ClipMode::Off);
  row("llama", 5, 400, false, Precision::Bf16, ClipMode::Exact);
  row("llama", 5, 97, true, Precision::Fp32, ClipMode::ExactBf16);
  row("gpt2", 4, 97, false, Precision::Bf16, ClipMode::Exact);
  row("gpt2", 5, 2000, true, Precision::Bf16, ClipMode::Off);
  row("gpt2", 5, 97, false, Precision::Fp32, ClipMode::Exact);
}

} // namespace millrace::test

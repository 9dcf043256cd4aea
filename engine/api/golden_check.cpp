#include "engine/check.h"

#include "api/golden_tensors.h"
#include "base/json_reader.h"
#include "model/config_import.h"
#include "plan/planner.h"
#include "storage/model_reader.h"
#include "train/load_weights.h"
#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace millrace {

namespace {

// How close fp32 results must come to the reference, as stated beside the cases: two to ten times what fp32 differs
// from fp64 by.
constexpr double lossBound = 2e-5;
constexpr double normBound = 3e-4;
constexpr double l2Bound = 1e-5;
constexpr double valueBound = 5e-5;
constexpr double parameterBound = 3e-4;
constexpr double keyBiasBound = 2e-2; // their gradient is nearly zero, and AdamW amplifies rounding

/// What stands in expected.json for a whole tensor.
struct Fingerprint {
  std::vector<std::int64_t> shape;
  double l2 = 0;
  std::vector<std::int64_t> index;
  std::vector<double> value;
};

struct Expected {
  std::vector<std::vector<std::int32_t>> inputs, labels;
  double loss = 0, gradNorm = 0, lossAfter = 0;
  std::vector<double> stepLoss, stepGradNorm, stepLr;
  AdamWHyperparameters adamW;
  double clipNorm = 0;
  Fingerprint logits;
  std::map<std::string, Fingerprint> gradients, parameters;
  std::vector<std::int32_t> prompt, continuation;
  struct Packed {
    std::vector<std::int64_t> lengths;
    std::vector<std::int32_t> inputs;
    double loss = 0, gradNorm = 0;
    std::map<std::string, Fingerprint> gradients;
  };
  std::optional<Packed> packed;
};

Fingerprint readFingerprint(const Json& json) {
  Fingerprint print;
  json.at("shape").get_to(print.shape);
  json.at("l2").get_to(print.l2);
  json.at("index").get_to(print.index);
  json.at("value").get_to(print.value);
  return print;
}

std::map<std::string, Fingerprint> readFingerprints(const Json& json) {
  std::map<std::string, Fingerprint> prints;
  for (const auto& [name, print] : json.items()) prints[name] = readFingerprint(print);
  return prints;
}

Result<Expected> readExpected(FileSystem& files, const Path& path) {
  MILLRACE_TRY(const Json json, readJsonFile(files, path));
  try {
    Expected e;
    json.at("input_ids").get_to(e.inputs);
    json.at("labels").get_to(e.labels);
    json.at("loss").get_to(e.loss);
    json.at("grad_norm").get_to(e.gradNorm);
    json.at("loss_after").get_to(e.lossAfter);
    json.at("step_loss").get_to(e.stepLoss);
    json.at("step_grad_norm").get_to(e.stepGradNorm);
    json.at("step_lr").get_to(e.stepLr);
    const Json& h = json.at("hyperparameters");
    e.adamW = {h.at("beta1"), h.at("beta2"), h.at("eps"), h.at("weight_decay")};
    h.at("clip_norm").get_to(e.clipNorm);
    e.logits = readFingerprint(json.at("logits"));
    e.gradients = readFingerprints(json.at("gradients"));
    e.parameters = readFingerprints(json.at("parameters_after_6_steps"));
    json.at("greedy_prompt").get_to(e.prompt);
    json.at("greedy_continuation").get_to(e.continuation);
    if (json.contains("packed") && !json.at("packed").is_null()) {
      const Json& p = json.at("packed");
      Expected::Packed packed;
      p.at("document_lengths").get_to(packed.lengths);
      p.at("input_ids").get_to(packed.inputs);
      p.at("loss").get_to(packed.loss);
      p.at("grad_norm").get_to(packed.gradNorm);
      packed.gradients = readFingerprints(p.at("gradients"));
      std::int64_t tokens = 0;
      for (const std::int64_t length : packed.lengths) tokens += std::clamp<std::int64_t>(length, 0, 1 << 30);
      if (packed.lengths.empty() || tokens != static_cast<std::int64_t>(packed.inputs.size()))
        return badInput(fmt::format("{}: packed: document_lengths add up to {}, but there are {} input_ids",
                                    path.string(), tokens, packed.inputs.size()));
      e.packed = std::move(packed);
    }
    const bool rectangular = !e.inputs.empty() && !e.inputs[0].empty() && e.labels.size() == e.inputs.size() &&
                             std::all_of(e.inputs.begin(), e.inputs.end(),
                                         [&](const auto& row) { return row.size() == e.inputs[0].size(); }) &&
                             std::all_of(e.labels.begin(), e.labels.end(),
                                         [&](const auto& row) { return row.size() == e.inputs[0].size(); });
    if (!rectangular || e.stepLoss.size() != e.stepLr.size() || e.stepLoss.size() != e.stepGradNorm.size())
      return badInput(fmt::format("{}: input_ids, labels or step lists do not match in size", path.string()));
    return e;
  } catch (const nlohmann::json::exception& problem) {
    return badInput(fmt::format("{}: not a reference case: {}", path.string(), problem.what()));
  }
}

/// Rows [first, first + count) as a micro-batch; the label at t + 1 is the target of position t.
MicroBatch microBatchOf(const Expected& e, std::size_t first, std::size_t count) {
  MicroBatch batch;
  batch.rows = static_cast<std::int64_t>(count);
  batch.context = static_cast<std::int64_t>(e.inputs[0].size());
  for (std::size_t row = first; row < first + count; ++row)
    for (std::size_t t = 0; t < e.inputs[row].size(); ++t) {
      batch.tokens.push_back(e.inputs[row][t]);
      const bool last = t + 1 == e.inputs[row].size();
      batch.targets.push_back(last || e.labels[row][t + 1] < 0 ? -1 : e.labels[row][t + 1]);
      batch.positions.push_back(static_cast<std::int32_t>(t));
      batch.documentStart.push_back(0);
    }
  return batch;
}

MicroBatch packedBatch(const Expected::Packed& packed) {
  MicroBatch batch;
  batch.rows = 1;
  batch.context = static_cast<std::int64_t>(packed.inputs.size());
  batch.tokens = packed.inputs;
  std::int32_t start = 0;
  for (const std::int64_t length : packed.lengths) {
    for (std::int32_t i = 0; i < length; ++i) {
      batch.positions.push_back(i);
      batch.documentStart.push_back(start);
      batch.targets.push_back(i + 1 < length ? packed.inputs.at(static_cast<std::size_t>(start + i + 1)) : -1);
    }
    start += static_cast<std::int32_t>(length);
  }
  return batch;
}

/// The batch k times, each with a share of its targets, so that together they are the batch.
std::vector<MicroBatch> sharingTargets(const MicroBatch& batch, std::int64_t k) {
  std::vector<MicroBatch> batches(static_cast<std::size_t>(k), batch);
  for (std::int64_t m = 0; m < k; ++m)
    for (std::size_t t = 0; t < batch.targets.size(); ++t)
      if (static_cast<std::int64_t>(t) % k != m) batches[static_cast<std::size_t>(m)].targets[t] = -1;
  return batches;
}

double relative(double actual, double expected) {
  return std::fabs(actual - expected) / std::max(std::fabs(expected), 1e-30);
}

class Checker {
 public:
  explicit Checker(GoldenResult& result) : m_result(result) {}

  void number(const std::string& what, double actual, double expected, double bound) {
    m_result.comparisons.push_back({what, relative(actual, expected), bound});
  }

  void tensor(const std::string& what, std::span<const float> actual, const std::vector<std::int64_t>& shape,
              const Fingerprint& expected, double l2, double values) {
    const auto elements = static_cast<std::int64_t>(actual.size());
    double squares = 0;
    double largest = 0;
    for (const float x : actual) {
      squares += static_cast<double>(x) * x;
      largest = std::max(largest, std::fabs(static_cast<double>(x)));
    }
    if (shape != expected.shape || expected.index.size() != expected.value.size()) {
      m_result.comparisons.push_back({what + ": shape", 1, 0});
      return;
    }
    m_result.comparisons.push_back({what + ": l2", relative(std::sqrt(squares), expected.l2), l2});
    double worst = 0;
    for (std::size_t i = 0; i < expected.index.size(); ++i) {
      const std::int64_t at = expected.index[i];
      const double x = at >= 0 && at < elements ? actual[static_cast<std::size_t>(at)] : std::nan("");
      const double error = std::fabs(x - expected.value[i]) / std::max(largest, 1e-30);
      if (!(error <= worst) && !std::isnan(worst)) worst = error; // once lost, it stays lost
    }
    m_result.comparisons.push_back({what + ": values", worst, values});
  }

 private:
  GoldenResult& m_result;
};

/// One case being run.
class Case {
 public:
  Case(FileSystem& files, const Path& folder, const GoldenSetting& setting)
      : m_files(files), m_folder(folder), m_setting(setting) {}

  Result<GoldenResult> run() {
    MILLRACE_TRY(m_spec, readModelConfig(m_files, m_folder));
    MILLRACE_TRY(m_expected, readExpected(m_files, m_folder / "expected.json"));
    const auto rows = static_cast<std::int64_t>(m_expected.inputs.size());
    m_result.caseName = m_folder.filename().string();
    m_result.setting = m_setting;
    MILLRACE_CHECK(trainSixSteps(rows));
    if (m_expected.packed) MILLRACE_CHECK(packedRow());
    return std::move(m_result);
  }

 private:
  struct Instance {
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<Device> device;
    std::unique_ptr<Trainer> trainer;
  };

  Result<Instance> instance(std::int64_t rows, std::int64_t context, std::int64_t microBatches) {
    RunShape shape;
    shape.rows = rows;
    shape.context = context;
    shape.microBatches = microBatches;
    shape.headChunk = std::max<std::int64_t>(1, rows * context * 2 / 3); // an uneven last chunk
    PlanRequest request;
    request.shape = shape;
    request.recompute = m_setting.recompute;
    request.placement = m_setting.resident ? PlacementPolicy::Device : PlacementPolicy::Host;
    const MemoryPlan plan = smallestPlan(m_spec, request);
    m_result.deviceLimit = std::max(m_result.deviceLimit, plan.total(MemoryTier::Device));
    Instance made;
    made.pool = std::make_unique<ThreadPool>(m_setting.threads);
    MILLRACE_TRY(made.device, openDevice(m_setting.device, *made.pool, plan.total(MemoryTier::Device),
                                         plan.total(MemoryTier::Host)));
    TrainerOptions options;
    options.adamW = m_expected.adamW;
    options.maxGradNorm = m_expected.clipNorm;
    MILLRACE_TRY(made.trainer, Trainer::create(*made.device, *made.pool, m_spec, plan, options));
    MILLRACE_TRY(const ModelReader reader, ModelReader::open(m_files, m_folder, m_spec));
    MILLRACE_CHECK(loadWeights(made.trainer->runner().store(), *made.trainer->runner().streams().copyIn,
                               [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
                                 return reader.readBlock(block, first, values);
                               }));
    return made;
  }

  void compareGradients(Trainer& trainer, const std::map<std::string, Fingerprint>& expected,
                        const std::string& prefix) {
    if (m_setting.resident) return; // updated in place by then
    Checker check(m_result);
    std::size_t found = 0;
    const std::vector<BlockSpec>& blocks = trainer.runner().store().blocks();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::vector<float> gradient = trainer.gradient(b);
      for (const GoldenTensor& tensor : goldenTensors(blocks[b])) {
        const auto print = expected.find(tensor.name);
        if (print == expected.end()) {
          m_result.comparisons.push_back({prefix + "gradient of " + tensor.name + " is not expected", 1, 0});
          continue;
        }
        ++found;
        check.tensor(prefix + "gradient of " + tensor.name,
                     std::span(gradient).subspan(static_cast<std::size_t>(tensor.offset),
                                                 static_cast<std::size_t>(tensor.elements)),
                     tensor.shape, print->second, l2Bound, valueBound);
      }
    }
    m_result.comparisons.push_back(
        {prefix + "gradients without a counterpart", static_cast<double>(expected.size() - found), 0});
  }

  static bool isKeyBias(const std::string& name) {
    return name.ends_with("k_proj.bias") || name.ends_with("c_attn.bias");
  }

  Status trainSixSteps(std::int64_t rows) {
    const std::int64_t k = m_setting.severalMicroBatches ? std::max<std::int64_t>(2, rows) : 1;
    const bool splitTargets = rows % k != 0; // one row: the same tokens twice, every target in one of the two
    const std::int64_t rowsEach = splitTargets ? rows : rows / k;
    const auto context = static_cast<std::int64_t>(m_expected.inputs[0].size());
    const auto text = static_cast<std::int64_t>(m_expected.prompt.size() + m_expected.continuation.size());
    MILLRACE_TRY(Instance made, instance(rowsEach, std::max(context, text), k));
    Trainer& trainer = *made.trainer;
    std::vector<MicroBatch> batches;
    if (splitTargets) batches = sharingTargets(microBatchOf(m_expected, 0, static_cast<std::size_t>(rows)), k);
    for (std::int64_t m = 0; !splitTargets && m < k; ++m)
      batches.push_back(
          microBatchOf(m_expected, static_cast<std::size_t>(m * rowsEach), static_cast<std::size_t>(rowsEach)));

    Checker check(m_result);
    std::vector<float> logits;
    for (const MicroBatch& batch : splitTargets ? std::span(batches).first(1) : std::span(batches)) {
      const std::vector<float> part = trainer.runner().allLogits(batch);
      logits.insert(logits.end(), part.begin(), part.end());
    }
    check.tensor("logits", logits, {rows, context, m_spec.vocabulary}, m_expected.logits, l2Bound, valueBound);

    for (std::size_t s = 0; s < m_expected.stepLoss.size(); ++s) {
      MILLRACE_TRY(const StepOutcome outcome, trainer.step({batches, batches, m_expected.stepLr[s]}));
      if (s == 0) {
        check.number("loss", outcome.loss, m_expected.loss, lossBound);
        check.number("gradient norm", outcome.gradNorm, m_expected.gradNorm, normBound);
        compareGradients(trainer, m_expected.gradients, "");
      }
      check.number(fmt::format("loss of step {}", s + 1), outcome.loss, m_expected.stepLoss[s], lossBound);
      check.number(fmt::format("gradient norm of step {}", s + 1), outcome.gradNorm, m_expected.stepGradNorm[s],
                   normBound);
    }
    trainer.applyPending();
    MILLRACE_CHECK(compareParameters(trainer));

    double sum = 0;
    std::int64_t targets = 0;
    for (const MicroBatch& batch : batches) {
      const ForwardRunner::Loss loss = trainer.runner().loss(batch);
      sum += loss.sum;
      targets += loss.targets;
    }
    check.number("loss after six steps", sum / static_cast<double>(targets), m_expected.lossAfter, lossBound);
    greedy(trainer);
    return {};
  }

  Status compareParameters(Trainer& trainer) {
    Checker check(m_result);
    const TensorStore& store = trainer.runner().store();
    std::vector<float> values;
    std::size_t found = 0;
    for (std::size_t b = 0; b < store.blocks().size(); ++b)
      for (const GoldenTensor& tensor : goldenTensors(store.blocks()[b])) {
        const auto print = m_expected.parameters.find(tensor.name);
        if (print == m_expected.parameters.end()) {
          m_result.comparisons.push_back({tensor.name + " is not among the expected parameters", 1, 0});
          continue;
        }
        values.resize(static_cast<std::size_t>(tensor.elements));
        MILLRACE_CHECK(
            store.read(*trainer.runner().streams().copyOut, b, TensorStore::Quantity::Master, tensor.offset, values));
        ++found;
        const double bound = isKeyBias(tensor.name) ? keyBiasBound : parameterBound;
        check.tensor("after six steps " + tensor.name, values, tensor.shape, print->second, bound, bound);
      }
    m_result.comparisons.push_back(
        {"parameters without a counterpart", static_cast<double>(m_expected.parameters.size() - found), 0});
    return {};
  }

  void greedy(Trainer& trainer) {
    std::vector<std::int32_t> tokens = m_expected.prompt;
    double wrong = 0;
    for (const std::int32_t expected : m_expected.continuation) {
      const std::vector<float> logits = trainer.runner().nextLogits(tokens);
      const auto best = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      if (best != expected) ++wrong;
      tokens.push_back(expected);
    }
    m_result.comparisons.push_back({"greedy continuation: tokens that differ", wrong, 0});
  }

  Status packedRow() {
    const MicroBatch batch = packedBatch(*m_expected.packed);
    const std::int64_t k = m_setting.severalMicroBatches ? 2 : 1;
    MILLRACE_TRY(Instance made, instance(1, batch.context, k));
    const std::vector<MicroBatch> batches = sharingTargets(batch, k);
    MILLRACE_TRY(const StepOutcome outcome, made.trainer->step({batches, {}, 0.0}));
    Checker check(m_result);
    check.number("packed: loss", outcome.loss, m_expected.packed->loss, lossBound);
    check.number("packed: gradient norm", outcome.gradNorm, m_expected.packed->gradNorm, normBound);
    compareGradients(*made.trainer, m_expected.packed->gradients, "packed: ");
    return {};
  }

  FileSystem& m_files;
  const Path m_folder;
  const GoldenSetting m_setting;
  ModelSpec m_spec;
  Expected m_expected;
  GoldenResult m_result;
};

} // namespace

std::string GoldenSetting::name() const {
  return fmt::format("{}, recompute {}{}{}", severalMicroBatches ? "several micro-batches" : "one micro-batch",
                     toString(recompute), resident ? ", resident" : "", device == "cpu" ? "" : ", " + device);
}

bool GoldenResult::passed() const {
  return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.passed(); });
}

Result<GoldenResult> checkGolden(FileSystem& files, const Path& folder, const GoldenSetting& setting) {
  return Case(files, folder, setting).run();
}

namespace {

/// Expectations of other things (rotations, tokenizers) lie beside those of models. A model of which a part is missing
/// is one all the same, and is refused by name.
bool holdsModel(FileSystem& files, const Path& folder) {
  const auto names = files.list(folder);
  return names && std::any_of(names->begin(), names->end(), [](const std::string& name) {
           return name == "config.json" || name.ends_with(".safetensors");
         });
}

} // namespace

Result<std::vector<Path>> goldenCases(FileSystem& files, const Path& folder) {
  std::vector<Path> cases;
  if (files.exists(folder / "expected.json")) return std::vector<Path>{folder};
  MILLRACE_TRY(const std::vector<std::string> names, files.list(folder));
  for (const std::string& name : names)
    if (files.exists(folder / name / "expected.json") && holdsModel(files, folder / name))
      cases.push_back(folder / name);
  if (cases.empty())
    return badInput(fmt::format(
        "{}: no reference case here: expected a folder with expected.json, config.json and weights, or folders of them",
        folder.string()));
  return cases;
}

std::vector<GoldenSetting> goldenSettings(const std::string& device) {
  std::vector<GoldenSetting> settings;
  for (const bool several : {false, true}) {
    for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
      settings.push_back({.severalMicroBatches = several, .recompute = policy, .device = device});
    settings.push_back(
        {.severalMicroBatches = several, .recompute = Recompute::None, .resident = true, .device = device});
  }
  return settings;
}

} // namespace millrace

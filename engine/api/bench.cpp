#include "engine/bench.h"

#include "api/inference_engine.h"
#include "base/json_reader.h"
#include "hardware/detect.h"
#include "model/config_import.h"
#include "model/initialization.h"
#include "probe/memory_rates.h"
#include "project/project_model.h"
#include "run/plan_rates.h"
#include "run/run_plan.h"
#include "train/load_weights.h"
#include "train/product_timer.h"
#include "train/random_batch.h"
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace millrace {

namespace {

BenchMachine machineOf(const HardwareProfile& profile, int threads) {
  BenchMachine machine;
  machine.processor = profile.cpu.name;
  machine.threads = threads;
  machine.cores = profile.cpu.usableCores;
  machine.memory = profile.memory.total;
  const InstructionSets& sets = profile.cpu.instructionSets;
  machine.instructionSet = sets.avx512 ? "AVX-512" : sets.avx2 ? "AVX2" : "baseline";
  return machine;
}

std::vector<MicroBatch> randomBatches(const ModelSpec& spec, const RunShape& shape) {
  Random random(1, "bench");
  std::vector<MicroBatch> batches;
  for (std::int64_t m = 0; m < shape.microBatches; ++m) batches.push_back(randomBatch(spec, shape, random));
  return batches;
}

/// What streams did between two moments.
struct Use {
  explicit Use(Streams& streams)
      : in(streams.copyIn->use()), out(streams.copyOut->use()), compute(streams.compute->use()) {}
  StreamUse in, out, compute;
};

class StepBench {
 public:
  StepBench(const ModelSpec& spec, const Project& project, const MemoryPlan& plan, int threads)
      : m_spec(spec), m_plan(plan), m_pool(threads), m_products(stepProducts(spec, plan.shape)) {
    m_options.adamW = {project.training.beta1, project.training.beta2, project.training.epsilon,
                       project.training.weightDecay};
    m_options.maxGradNorm = project.training.maxGradNorm;
    m_options.overlap = project.training.overlap;
  }

  Status run(const BenchStepOptions& options, BenchStepReport& report) {
    m_device = createCpuDevice(m_pool, m_plan.total(MemoryTier::Device), m_plan.total(MemoryTier::Host));
    MILLRACE_TRY(m_trainer, Trainer::create(*m_device, m_pool, m_spec, m_plan, m_options));
    MILLRACE_CHECK(loadWeights(store(), *streams().copyIn,
                               [&](const BlockSpec& block, std::int64_t first, std::span<float> values) -> Status {
                                 initialBlockValues(m_spec, block, 1, first, values);
                                 return {};
                               }));
    m_batches = randomBatches(m_spec, m_plan.shape);
    // The products have memory of their own, beside the limits of what is measured.
    const auto other = createCpuDevice(m_pool, productBytes(), 0);
    MILLRACE_TRY(ProductTimer products, ProductTimer::create(*other, m_products, m_plan.shape.precision));

    MILLRACE_CHECK(steps(1)); // memory is touched, kernels are made
    (void)products.run();
    std::vector<double> seconds, forward, backward, optimizer, alone, shares;
    const Use before(streams());
    for (int round = 0; round < options.rounds; ++round) {
      if (options.progress && !options.progress(round, options.rounds))
        return failure(ErrorKind::Interrupted, "the benchmark was given up");
      m_forward = m_backward = 0;
      const double busy = m_trainer->optimizerSeconds();
      const auto begin = std::chrono::steady_clock::now();
      MILLRACE_CHECK(steps(options.stepsPerRound));
      const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const double products1 = products.run();
      const double products2 = products.run();
      const double count = options.stepsPerRound;
      seconds.push_back(whole / count);
      forward.push_back(m_forward / count);
      backward.push_back(m_backward / count);
      optimizer.push_back((m_trainer->optimizerSeconds() - busy) / count);
      alone.push_back(0.5 * (products1 + products2));
      shares.push_back(alone.back() / seconds.back());
    }
    const Use after(streams());
    const double total = static_cast<double>(options.rounds) * options.stepsPerRound;

    report.seconds = median(seconds);
    report.tokensPerSecond = static_cast<double>(report.tokens) / report.seconds;
    report.forwardSeconds = median(forward);
    report.backwardSeconds = median(backward);
    report.optimizerSeconds = median(optimizer);
    report.productSeconds = median(alone);
    report.productFlops = productFlops(m_products);
    report.productShare = median(shares);
    const auto perStep = [&](Bytes bytes) { return static_cast<Bytes>(static_cast<double>(bytes) / total); };
    report.bytesIn = perStep(after.in.copiedBytes - before.in.copiedBytes);
    report.bytesOut = perStep(after.out.copiedBytes - before.out.copiedBytes);
    report.copyInSeconds = (after.in.copySeconds - before.in.copySeconds) / total;
    report.copyOutSeconds = (after.out.copySeconds - before.out.copySeconds) / total;
    constexpr const char* causes[stallCauses] = {"order", "weights", "optimizer", "gradients", "activations", "data"};
    for (std::size_t i = 0; i < stallCauses; ++i)
      report.stalls.push_back({causes[i], (after.compute.stallSeconds[i] - before.compute.stallSeconds[i]) / total});
    report.devicePeak = m_device->memoryUse(MemorySpace::Device).peak;
    report.hostPeak = m_device->memoryUse(MemorySpace::Host).peak;
    return {};
  }

 private:
  TensorStore& store() { return m_trainer->runner().store(); }
  Streams& streams() { return m_trainer->runner().streams(); }

  /// Whole steps, their updates applied.
  Status steps(int count) {
    for (int i = 0; i < count; ++i) {
      MILLRACE_TRY(const StepOutcome outcome, m_trainer->step({m_batches, m_batches, 1e-5}));
      m_forward += outcome.forwardSeconds;
      m_backward += outcome.backwardSeconds;
    }
    m_trainer->applyPending();
    return {};
  }

  Bytes productBytes() const {
    Bytes bytes = 0;
    for (const MatrixProduct& p : m_products)
      bytes = std::max(bytes, std::max({p.m * p.n, p.n * p.k, p.m * p.k}) * 4 + operandAlignment);
    return 3 * bytes;
  }

  const ModelSpec& m_spec;
  const MemoryPlan& m_plan;
  TrainerOptions m_options;
  ThreadPool m_pool;
  const std::vector<MatrixProduct> m_products;
  std::unique_ptr<Device> m_device;
  std::unique_ptr<Trainer> m_trainer;
  std::vector<MicroBatch> m_batches;
  double m_forward = 0, m_backward = 0;
};

Json machineToJson(const BenchMachine& machine) {
  return {{"processor", machine.processor},
          {"threads", machine.threads},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory},
          {"instruction_set", machine.instructionSet}};
}

} // namespace

Result<BenchStepReport> benchStep(FileSystem& files, const Project& project, const std::string& source,
                                  const BenchStepOptions& options) {
  if (options.rounds < 1 || options.stepsPerRound < 1)
    return badInput("rounds and steps of a benchmark: expected 1 or more of each");
  try {
    MILLRACE_TRY(const ModelSpec spec, readProjectModel(files, project, source));
    const HardwareProfile profile = withRates(files, detectHardware(), project);
    const int threads = project.training.threads > 0 ? static_cast<int>(project.training.threads)
                                                     : std::max(1, profile.cpu.usableCores);
    const MemoryLimits limits = memoryLimits(project, profile);
    MILLRACE_TRY(const PlannedStep planned, planRun(spec, planRequest(project, limits, profile), limits));
    const MemoryPlan& plan = planned.memory;
    BenchStepReport report;
    report.machine = machineOf(profile, threads);
    report.project = project.name;
    report.model = configFromModelSpec(spec, "float32").dump();
    report.parameters = parameterCount(spec);
    report.layers = static_cast<std::int64_t>(spec.layers.size());
    report.rows = plan.shape.rows;
    report.context = plan.shape.context;
    report.microBatches = plan.shape.microBatches;
    report.tokens = plan.shape.tokens() * plan.shape.microBatches;
    report.precision = toString(plan.shape.precision);
    report.clip = toString(plan.shape.clip);
    report.recompute = toString(plan.shape.recompute);
    report.group = plan.shape.group;
    report.slots = plan.shape.slots;
    report.offloadActivations = plan.shape.offloadActivations;
    report.streamedLayers = std::count(plan.homes.begin(), plan.homes.end() - 1, UnitHome::Host);
    MILLRACE_CHECK(StepBench(spec, project, plan, threads).run(options, report));
    return report;
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

Result<BenchOptimizerReport> benchOptimizer(const ComputeOptions& options, std::int64_t parameters, int rounds) {
  if (parameters < 1 || rounds < 1) return badInput("parameters and rounds: expected 1 or more of each");
  const ComputeLimits limits = computeLimits(options);
  if (parameters > limits.host / 20)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("{} parameters take {} and {} can be taken; choose fewer", parameters,
                               formatBytes(parameters * 20), formatBytes(limits.host)));
  ThreadPool pool(limits.threads);
  MILLRACE_TRY(const AdamWRates rates, measureAdamW(pool, parameters, rounds));
  BenchOptimizerReport report;
  report.machine = machineOf(detectHardware(), limits.threads);
  report.machine.instructionSet = rates.instructionSet;
  report.parameters = rates.parameters;
  constexpr auto width = static_cast<double>(adamWBytesPerParameter);
  report.trafficBytesPerSecond = width * rates.traffic;
  report.fp32ParametersPerSecond = rates.fp32;
  report.fp32BytesPerSecond = width * rates.fp32;
  report.fp32Share = rates.fp32Share;
  report.splitParametersPerSecond = rates.split;
  report.splitBytesPerSecond = width * rates.split;
  report.splitShare = rates.splitShare;
  return report;
}

Result<BenchCopyReport> benchCopy(const ComputeOptions& options, Bytes bytes, int rounds) {
  if (bytes < 1 || rounds < 1) return badInput("bytes and rounds: expected 1 or more of each");
  const ComputeLimits limits = computeLimits(options);
  if (bytes > std::min(limits.host, limits.device) / 4)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("copies of {} take {} and {} can be taken; choose smaller ones", formatBytes(bytes),
                               formatBytes(4 * bytes), formatBytes(std::min(limits.host, limits.device))));
  try {
    ThreadPool pool(limits.threads);
    const auto device = createCpuDevice(pool, 2 * bytes, 2 * bytes);
    MILLRACE_TRY(const CopyRates rates, measureCopies(*device, bytes, rounds));
    BenchCopyReport report;
    report.machine = machineOf(detectHardware(), limits.threads);
    report.device = device->name();
    report.bytes = rates.bytes;
    report.inBytesPerSecond = rates.in;
    report.outBytesPerSecond = rates.out;
    report.bothBytesPerSecond = rates.both;
    return report;
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

std::string toJson(const BenchStepReport& report) {
  Json json;
  json["machine"] = machineToJson(report.machine);
  json["project"] = report.project;
  json["model"] = Json::parse(report.model);
  json["parameters"] = report.parameters;
  json["layers"] = report.layers;
  json["rows"] = report.rows;
  json["context"] = report.context;
  json["micro_batches"] = report.microBatches;
  json["tokens_per_step"] = report.tokens;
  json["precision"] = report.precision;
  json["clip"] = report.clip;
  json["recompute"] = report.recompute;
  json["group"] = report.group;
  json["slots"] = report.slots;
  json["offload_activations"] = report.offloadActivations;
  json["streamed_layers"] = report.streamedLayers;
  json["tokens_per_second"] = report.tokensPerSecond;
  json["step_seconds"] = report.seconds;
  json["forward_seconds"] = report.forwardSeconds;
  json["backward_seconds"] = report.backwardSeconds;
  json["optimizer_seconds"] = report.optimizerSeconds;
  json["matrix_products"] = {{"seconds", report.productSeconds},
                             {"flops", report.productFlops},
                             {"flops_per_second", report.productFlops / report.productSeconds},
                             {"share_of_step", report.productShare}};
  json["links"] = Json::array({{{"name", "bus"},
                                {"bytes_in", report.bytesIn},
                                {"bytes_out", report.bytesOut},
                                {"seconds_in", report.copyInSeconds},
                                {"seconds_out", report.copyOutSeconds}}});
  for (const BenchStepReport::Stall& stall : report.stalls) json["stalled_seconds"][stall.cause] = stall.seconds;
  json["peak_bytes"] = {{"device", report.devicePeak}, {"host", report.hostPeak}};
  return json.dump(2);
}

std::string toJson(const BenchOptimizerReport& report) {
  Json json;
  json["machine"] = machineToJson(report.machine);
  json["parameters"] = report.parameters;
  json["bytes_per_parameter"] = adamWBytesPerParameter;
  json["traffic_bytes_per_second"] = report.trafficBytesPerSecond;
  json["adamw_fp32"] = {{"parameters_per_second", report.fp32ParametersPerSecond},
                        {"bytes_per_second", report.fp32BytesPerSecond},
                        {"share_of_traffic", report.fp32Share}};
  json["adamw_split"] = {{"parameters_per_second", report.splitParametersPerSecond},
                         {"bytes_per_second", report.splitBytesPerSecond},
                         {"share_of_traffic", report.splitShare}};
  return json.dump(2);
}

std::string toJson(const BenchCopyReport& report) {
  Json json;
  json["machine"] = machineToJson(report.machine);
  json["device"] = report.device;
  json["bytes"] = report.bytes;
  json["in_bytes_per_second"] = report.inBytesPerSecond;
  json["out_bytes_per_second"] = report.outBytesPerSecond;
  json["both_bytes_per_second"] = report.bothBytesPerSecond;
  return json.dump(2);
}

} // namespace millrace

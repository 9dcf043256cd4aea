#include "api/bench_machine.h"
#include "engine/plan.h"
#include "hardware/detect.h"
#include "model/config_import.h"
#include "probe/rounds.h"
#include "project/project_model.h"
#include "run/device_choice.h"
#include "run/plan_rates.h"
#include "train/load_weights.h"
#include "train/product_timer.h"
#include "train/random_batch.h"
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>

namespace millrace {

namespace {

std::vector<MicroBatch> randomBatches(const ModelSpec& spec, const RunShape& shape) {
  Random random(1, "bench");
  std::vector<MicroBatch> batches;
  for (std::int64_t m = 0; m < shape.microBatches; ++m) batches.push_back(randomBatch(spec, shape, random));
  return batches;
}

/// What was copied and waited for until a moment.
struct Use {
  explicit Use(Trainer& trainer) : bus(trainer.busUse()), compute(trainer.runner().streams().compute->use()) {}
  BusUse bus;
  StreamUse compute;
};

/// Operands of the largest products: memory beside what is measured.
Bytes productBytes(const std::vector<MatrixProduct>& products) {
  Bytes bytes = 0;
  for (const MatrixProduct& p : products)
    bytes = std::max(bytes, std::max({p.m * p.n, p.n * p.k, p.m * p.k}) * 4 + operandAlignment);
  return 3 * bytes;
}

Result<AdamWIsa> isaOf(const std::string& name) {
  if (name == "auto") return bestAdamWIsa();
  for (const AdamWIsa isa : {AdamWIsa::Scalar, AdamWIsa::Avx2, AdamWIsa::Avx512}) {
    if (name != toString(isa)) continue;
    if (supported(isa)) return isa;
    return badInput(fmt::format("the instruction set is {}, which this processor does not have", name));
  }
  return badInput(fmt::format("the instruction set is '{}', expected auto, scalar, avx2 or avx512", name));
}

/// The most RAM that this process has had.
Bytes processPeak() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (Bytes kibibytes = 0; word == "VmHWM:" && status >> kibibytes) return kibibytes * KiB;
  return 0;
}

class StepBench {
 public:
  /// open: makes a device with so much memory.
  using Opener = std::function<Result<std::unique_ptr<Device>>(ThreadPool&, Bytes device, Bytes host)>;

  StepBench(const ModelSpec& spec, const Project& project, const MemoryPlan& plan, int threads, AdamWIsa isa,
            Opener open)
      : m_spec(spec),
        m_plan(plan),
        m_open(std::move(open)),
        m_pool(threads),
        m_products(stepProducts(spec, plan.shape)) {
    m_options.isa = isa;
    m_options.adamW = {project.training.beta1, project.training.beta2, project.training.epsilon,
                       project.training.weightDecay};
    m_options.maxGradNorm = project.training.maxGradNorm;
    m_options.overlap = project.training.overlap;
  }

  Status run(const BenchStepOptions& options, BenchStepReport& report) {
    MILLRACE_TRY(m_device, m_open(m_pool, m_plan.total(MemoryTier::Device), m_plan.total(MemoryTier::Host)));
    if (options.linkLimit > 0) m_device->limitLink(options.linkLimit);
    MILLRACE_TRY(m_trainer, Trainer::create(*m_device, m_pool, m_spec, m_plan, m_options));
    for (std::string& notice : m_device->notices()) report.notes.push_back(std::move(notice));
    ForwardRunner& runner = m_trainer->runner();
    MILLRACE_CHECK(drawWeights(runner.store(), *runner.streams().copyIn, m_pool, m_spec, 1));
    m_batches = randomBatches(m_spec, m_plan.shape);
    // The products have memory of their own, beside the limits of what is measured.
    MILLRACE_TRY(const auto other, m_open(m_pool, productBytes(m_products), 0));
    MILLRACE_TRY(ProductTimer products, ProductTimer::create(*other, m_products, m_plan.shape.precision));

    MILLRACE_CHECK(step()); // memory is touched, kernels are made
    m_trainer->applyPending();
    (void)products.run();
    std::vector<double> seconds, forward, backward, optimizer, alone, shares;
    const Use before(*m_trainer);
    for (int round = 0; round < options.rounds; ++round) {
      if (options.progress && !options.progress(round, options.rounds))
        return failure(ErrorKind::Interrupted, "the benchmark was given up");
      const double busy = m_trainer->optimizerSeconds();
      // The pace of a long run: the step before the timed ones leaves its updates under way, as the last of them does.
      MILLRACE_CHECK(step());
      m_forward = m_backward = 0;
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < options.stepsPerRound; ++i) MILLRACE_CHECK(step());
      const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      m_trainer->applyPending();
      const double products1 = products.run();
      const double products2 = products.run();
      const double count = options.stepsPerRound;
      seconds.push_back(whole / count);
      forward.push_back(m_forward / count);
      backward.push_back(m_backward / count);
      optimizer.push_back((m_trainer->optimizerSeconds() - busy) / (count + 1));
      alone.push_back(0.5 * (products1 + products2));
      shares.push_back(alone.back() / seconds.back());
    }
    const Use after(*m_trainer);
    const double total = static_cast<double>(options.rounds) * (options.stepsPerRound + 1);

    report.seconds = median(seconds);
    report.tokensPerSecond = static_cast<double>(report.tokens) / report.seconds;
    report.forwardSeconds = median(forward);
    report.backwardSeconds = median(backward);
    report.optimizerSeconds = median(optimizer);
    report.productSeconds = median(alone);
    report.productFlops = productFlops(m_products);
    report.productShare = median(shares);
    const auto perStep = [&](Bytes bytes) { return static_cast<Bytes>(static_cast<double>(bytes) / total); };
    report.bytesIn = perStep(after.bus.in - before.bus.in);
    report.bytesOut = perStep(after.bus.out - before.bus.out);
    report.copyInSeconds = (after.bus.secondsIn - before.bus.secondsIn) / total;
    report.copyOutSeconds = (after.bus.secondsOut - before.bus.secondsOut) / total;
    constexpr const char* causes[stallCauses] = {"order", "weights", "optimizer", "gradients", "activations", "data"};
    for (std::size_t i = 0; i < stallCauses; ++i)
      report.stalls.push_back({causes[i], (after.compute.stallSeconds[i] - before.compute.stallSeconds[i]) / total});
    report.devicePeak = m_device->memoryUse(MemorySpace::Device).peak;
    report.hostPeak = m_device->memoryUse(MemorySpace::Host).peak;
    report.processPeak = processPeak();
    return {};
  }

 private:
  Status step() {
    MILLRACE_TRY(const StepOutcome outcome, m_trainer->step({m_batches, m_batches, 1e-5}));
    m_forward += outcome.forwardSeconds;
    m_backward += outcome.backwardSeconds;
    return {};
  }

  const ModelSpec& m_spec;
  const MemoryPlan& m_plan;
  const Opener m_open;
  TrainerOptions m_options;
  ThreadPool m_pool;
  const std::vector<MatrixProduct> m_products;
  std::unique_ptr<Device> m_device;
  std::unique_ptr<Trainer> m_trainer;
  std::vector<MicroBatch> m_batches;
  double m_forward = 0, m_backward = 0;
};

/// Fewer sets than this would let layers wait for each other's buffers.
constexpr int leastAliasSets = 4;

/// A project's step on this machine.
struct BenchedStep {
  ModelSpec spec;
  HardwareProfile profile;
  DeviceChoice choice;
  PlannedStep planned;
  StepRates rates;
  int threads = 1;
};

/// Rates of a machine with a slower link.
void limitLink(StepRates& rates, double bytesPerSecond) {
  rates.in = std::min(rates.in, bytesPerSecond);
  rates.out = std::min(rates.out, bytesPerSecond);
  rates.both = std::min(rates.both, 2 * bytesPerSecond);
}

Result<BenchedStep> planBench(FileSystem& files, const Project& project, const std::string& source,
                              const BenchStepOptions& options) {
  BenchedStep step;
  MILLRACE_TRY(step.spec, readProjectModel(files, project, source));
  step.profile = detectHardware();
  MILLRACE_TRY(step.choice, readyDevice(project.training.device, source + ": training.device", step.profile));
  const bool gpu = step.choice.gpu >= 0;
  if (options.linkLimit > 0 && !gpu)
    return badInput("a limit of the link: the CPU computes, and it has no link; choose a GPU");
  step.profile = withRates(files, std::move(step.profile), project, step.choice.gpu);
  step.threads = static_cast<int>(computeThreads(project, step.profile));
  PlanTarget target;
  target.gpu = step.choice.gpu;
  MemoryLimits limits = withoutDriver(memoryLimits(project, step.profile, target), step.choice.driverBytes);
  const Bytes hostLimit = limits.host.bytes;
  if (options.aliasSets > 0) limits.host.bytes = limits.host.free = Bytes{1} << 60; // a few layers' worth is taken
  PlanRequest request = planRequest(project, limits, step.profile, target);
  if (gpu && !limits.device.set) // the products that are timed alone have their memory beside the plan's
    request.deviceLimit -= productBytes(stepProducts(step.spec, request.shape));
  if (options.linkLimit > 0) limitLink(*request.rates, options.linkLimit);
  if (options.aliasSets > 0) {
    request.placement = PlacementPolicy::Host;
    request.holdGradients = false; // layers that share buffers are alike
  }
  if (options.deviceUpdates) {
    if (*options.deviceUpdates > 0 && (!request.splitUpdates || request.shape.clip == ClipMode::Off))
      return badInput("a share of updates on the device: it needs a GPU that works alone, and clipping");
    request.splitUpdates = *options.deviceUpdates > 0;
    request.deviceUpdateShare = options.deviceUpdates;
  }
  step.rates = *request.rates;
  MILLRACE_TRY(step.planned, planRun(step.spec, request, limits));
  if (options.aliasSets == 0) return step;
  MemoryPlan& memory = step.planned.memory;
  memory = aliasLayers(step.spec, std::move(memory), options.aliasSets);
  if (const Bytes host = memory.total(MemoryTier::Host); host > hostLimit)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("with {} sets of buffers for all layers {} of host memory are needed, and {} may be "
                               "taken: lower the tokens of a step, or raise memory.ram_limit",
                               options.aliasSets, formatBytes(host), formatBytes(hostLimit)));
  return step;
}

void describe(const BenchedStep& step, const Project& project, const BenchStepOptions& options,
              BenchStepReport& report) {
  const MemoryPlan& plan = step.planned.memory;
  const RunShape& shape = plan.shape;
  report.machine = benchMachineOf(step.profile, step.threads);
  if (options.isa != "auto") report.machine.instructionSet = options.isa;
  report.device =
      step.choice.gpu < 0 ? "cpu" : step.profile.nvidia.gpus[static_cast<std::size_t>(step.choice.gpu)].name;
  report.driverBytes = step.choice.driverBytes;
  report.aliasSets = options.aliasSets;
  report.linkLimit = options.linkLimit;
  report.project = project.name;
  report.model = configFromModelSpec(step.spec, "float32").dump();
  report.parameters = parameterCount(step.spec);
  report.layers = static_cast<std::int64_t>(step.spec.layers.size());
  report.rows = shape.rows;
  report.context = shape.context;
  report.microBatches = shape.microBatches;
  report.tokens = shape.tokens() * shape.microBatches;
  report.precision = toString(shape.precision);
  report.clip = toString(shape.clip);
  report.recompute = toString(shape.recompute);
  report.group = shape.group;
  report.slots = shape.slots;
  report.offloadActivations = shape.offloadActivations;
  const auto layersWith = [&](UnitHome home) { return std::count(plan.homes.begin(), plan.homes.end() - 1, home); };
  report.streamedLayers = layersWith(UnitHome::Host);
  report.weightsOnDevice = layersWith(UnitHome::WeightsOnDevice);
  report.onDevice = layersWith(UnitHome::Device);
  report.heldLayers = shape.heldLayers;
  report.updatedOnDevice = plan.deviceUpdateShare;
  report.predictedSeconds = step.planned.time.seconds;
  report.ratesMeasured = step.rates.measured;
  report.notes.push_back(step.choice.reason);
  if (options.aliasSets > 0)
    report.notes.push_back(fmt::format("all {} layers share {} sets of buffers in host memory: the step does all its "
                                       "work, but loss and weights mean nothing",
                                       report.layers, options.aliasSets));
}

/// What does not depend on how the step went, but for the rate of its products.
void addFlopsAndBound(const BenchedStep& step, BenchStepReport& report) {
  const StepWork& work = step.planned.work;
  RunShape once = step.planned.memory.shape;
  once.recompute = Recompute::None;
  const StepWork plain = StepCount(MemoryLayout(step.spec, once)).work(step.planned.memory.homes);
  const auto flops = [](const StepWork& of) {
    return of.forward.products + of.forward.attention + of.backward.products + of.backward.attention;
  };
  report.modelFlops = flops(plain);
  report.hardwareFlops = flops(work);
  StepRates rates = step.rates;
  const double products = report.productFlops / report.productSeconds;
  rates.attention *= products / rates.products;
  rates.products = products;
  report.boundSeconds = predictStep(work, rates, step.planned.memory.shape.updateSlots > 0).bound;
}

} // namespace

Result<Project> benchProject(FileSystem& files, const std::string& name, const ModelSource& model, std::int64_t tokens,
                             const std::vector<std::string>& settings) {
  if (tokens < 1) return badInput(fmt::format("tokens of a step: {}, expected 1 or more", tokens));
  const std::int64_t context = std::min<std::int64_t>(tokens, 1024);
  if (tokens % context != 0)
    return badInput(fmt::format("tokens of a step: {}, expected a multiple of {}", tokens, context));
  std::int64_t rows = 8; // large products, and few of them
  while (tokens / context % rows != 0) --rows;
  std::vector<std::string> all{fmt::format("training.context={}", context),
                               fmt::format("training.micro_batch={}", rows),
                               fmt::format("training.micro_batches={}", tokens / context / rows),
                               fmt::format("training.head_chunk={}", std::min<std::int64_t>(1024, rows * context))};
  all.insert(all.end(), settings.begin(), settings.end());
  return projectOfModel(files, name, model, true, all);
}

Result<BenchStepReport> benchStep(FileSystem& files, const Project& project, const std::string& source,
                                  const BenchStepOptions& options) {
  if (options.rounds < 1 || options.stepsPerRound < 1)
    return badInput("rounds and steps of a benchmark: expected 1 or more of each");
  if (options.aliasSets != 0 && options.aliasSets < leastAliasSets)
    return badInput(
        fmt::format("sets of buffers that layers share: {}, expected {} or more", options.aliasSets, leastAliasSets));
  MILLRACE_TRY(const AdamWIsa isa, isaOf(options.isa));
  try {
    MILLRACE_TRY(const BenchedStep step, planBench(files, project, source, options));
    BenchStepReport report;
    describe(step, project, options, report);
    const auto open = [&](ThreadPool& pool, Bytes device, Bytes host) {
      return openChosen(step.choice, step.profile, pool, device, host);
    };
    MILLRACE_CHECK(StepBench(step.spec, project, step.planned.memory, step.threads, isa, open).run(options, report));
    addFlopsAndBound(step, report);
    return report;
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

std::string toJson(const BenchStepReport& report) {
  Json json;
  json["machine"] = toJson(report.machine);
  json["device"] = report.device;
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
  json["layers_with_weights_on_device"] = report.weightsOnDevice;
  json["layers_on_device"] = report.onDevice;
  json["layers_held"] = report.heldLayers;
  json["share_updated_on_device"] = report.updatedOnDevice;
  if (report.aliasSets > 0) json["alias_layers"] = {{"sets", report.aliasSets}, {"numbers_mean_nothing", true}};
  if (report.linkLimit > 0) json["link_limit_bytes_per_second"] = report.linkLimit;
  json["tokens_per_second"] = report.tokensPerSecond;
  json["step_seconds"] = report.seconds;
  json["forward_seconds"] = report.forwardSeconds;
  json["backward_seconds"] = report.backwardSeconds;
  json["optimizer_seconds"] = report.optimizerSeconds;
  json["matrix_products"] = {{"seconds", report.productSeconds},
                             {"flops", report.productFlops},
                             {"flops_per_second", report.productFlops / report.productSeconds},
                             {"share_of_step", report.productShare}};
  json["model_flops_per_second"] = report.modelFlops / report.seconds;
  json["hardware_flops_per_second"] = report.hardwareFlops / report.seconds;
  json["bound_seconds"] = report.boundSeconds;
  json["times_the_bound"] = report.seconds / report.boundSeconds;
  json["predicted_seconds"] = report.predictedSeconds;
  json["rates"] = report.ratesMeasured ? "measured" : "assumed";
  json["links"] = Json::array({{{"name", "bus"},
                                {"bytes_in", report.bytesIn},
                                {"bytes_out", report.bytesOut},
                                {"seconds_in", report.copyInSeconds},
                                {"seconds_out", report.copyOutSeconds},
                                {"busy_share_in", report.copyInSeconds / report.seconds},
                                {"busy_share_out", report.copyOutSeconds / report.seconds}}});
  for (const BenchStepReport::Stall& stall : report.stalls) json["stalled_seconds"][stall.cause] = stall.seconds;
  json["peak_bytes"] = {{"device", report.devicePeak},
                        {"host", report.hostPeak},
                        {"driver", report.driverBytes},
                        {"process", report.processPeak}};
  json["notes"] = report.notes;
  return json.dump(2);
}

} // namespace millrace

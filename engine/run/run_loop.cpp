#include "run/run_loop.h"

#include "base/hash.h"
#include "run/run_charts.h"
#include "text/text_stream.h"
#include "train/evaluator.h"
#include "train/sampler.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace millrace {

namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Of each step in what corrects the predicted time: about the last twenty count.
constexpr double correctionShare = 0.05;
} // namespace

RunLoop::RunLoop(FileSystem& files, const RunDescription& description, PreparedRun& run, CheckpointStore& checkpoints,
                 const RunDirectory& directory, RunRequests& requests, RunReporter& reporter, RunGauge& gauge, Log& log)
    : m_files(files),
      m_description(description),
      m_project(description.project),
      m_run(run),
      m_checkpoints(checkpoints),
      m_directory(directory),
      m_requests(requests),
      m_reporter(reporter),
      m_gauge(gauge),
      m_log(log),
      m_tokensPerStep(description.project.training.tokensPerStep()),
      m_lastSave(Clock::now()) {
  const auto waiting = [this](const DataProgress& now) { return waitForData(now); };
  m_run.source->setWaiting(waiting);
  m_run.validation->setWaiting(waiting);
}

std::int64_t RunLoop::totalSteps() const {
  const TrainingLength& length = m_project.training.length;
  const auto steps = [](double amount) { return static_cast<std::int64_t>(std::ceil(amount - 1e-9)); };
  switch (length.unit) {
  case LengthUnit::Steps:
    return steps(length.amount);
  case LengthUnit::Tokens:
    return steps(length.amount / static_cast<double>(m_tokensPerStep));
  case LengthUnit::Epochs: {
    const auto rows = static_cast<double>(m_project.training.microBatch * m_project.training.microBatches);
    return std::max<std::int64_t>(1, steps(length.amount * static_cast<double>(m_run.source->rowsPerEpoch()) / rows));
  }
  case LengthUnit::Hours:
    return 0;
  }
  return 0;
}

bool RunLoop::finished() const {
  const std::int64_t patience = m_project.evaluation.earlyStop;
  if (patience > 0 && m_run.state.evaluationsWithoutImprovement >= patience) return true;
  if (m_project.training.length.unit == LengthUnit::Hours)
    return m_run.state.elapsedSeconds >= m_project.training.length.amount * 3600;
  return m_run.state.step >= totalSteps();
}

std::int64_t RunLoop::expectedSteps(std::int64_t step) const {
  const std::int64_t total = totalSteps();
  if (total > 0) return total;
  // A length in hours: the share of the time that is over stands for the share of the steps.
  const double share = std::clamp(m_run.state.elapsedSeconds / (m_project.training.length.amount * 3600), 1e-6, 1.0);
  return std::max<std::int64_t>(step, static_cast<std::int64_t>(static_cast<double>(step) / share));
}

double RunLoop::learningRateOf(std::int64_t step) const {
  const TrainingConfig& training = m_project.training;
  const std::int64_t total = expectedSteps(step);
  LrSchedule schedule;
  switch (training.schedule) {
  case ScheduleShape::Constant:
    schedule.kind = LrScheduleKind::Constant;
    break;
  case ScheduleShape::Linear:
    schedule.kind = LrScheduleKind::Linear;
    break;
  case ScheduleShape::Cosine:
    schedule.kind = LrScheduleKind::Cosine;
    break;
  case ScheduleShape::Wsd:
    schedule.kind = LrScheduleKind::Wsd;
    break;
  }
  schedule.peak = training.learningRate;
  const bool byTime = training.length.unit == LengthUnit::Hours; // total is a guess that changes
  schedule.warmupSteps = training.warmupSteps.value_or(byTime ? 100 : std::min<std::int64_t>(100, total / 10));
  schedule.decaySteps = static_cast<std::int64_t>(training.decayFraction * static_cast<double>(total));
  schedule.minRatio = training.minLearningRateRatio;
  return learningRate(schedule, step, total);
}

bool RunLoop::waitForData(const DataProgress& now) {
  if (!m_beforeWaiting) {
    m_waitingSince = Clock::now();
    m_beforeWaiting = m_gauge.state;
    setState(RunState::Paused,
             fmt::format("waiting for data: {} of {} tokenized", formatBytes(now.done), formatBytes(now.total)));
  }
  return !m_requests.stopping();
}

void RunLoop::passed(const std::vector<double>& passes) {
  for (std::size_t i = 0; i < passes.size(); ++i)
    if (i < m_passes.size() && std::floor(passes[i]) > std::floor(m_passes[i]))
      m_log.info("{} has been gone over {} times", m_project.data.sources[i].paths.front().string(),
                 static_cast<std::int64_t>(passes[i]));
  m_passes = passes;
}

void RunLoop::waitedForData() {
  if (!m_beforeWaiting) return;
  if (m_clock.running()) m_dataSeconds += secondsSince(m_waitingSince);
  setState(*m_beforeWaiting);
  m_beforeWaiting.reset();
}

Result<RunLoop::Global> RunLoop::nextBatch() {
  const Status tokenizing = m_run.dataset->failure();
  m_dataFailed = !tokenizing;
  MILLRACE_CHECK(tokenizing);
  MILLRACE_CHECK(tellData(m_run, m_log));
  Global global;
  global.cursor = m_run.source->cursor();
  for (std::int64_t m = 0; m < m_project.training.microBatches; ++m) {
    if (m_requests.stopping()) return failure(ErrorKind::Interrupted, "stopped on request");
    Result<MicroBatch> batch = m_run.source->next(m_project.training.microBatch);
    waitedForData();
    if (!batch) {
      m_dataFailed = !m_run.dataset->failure();
      return tl::unexpected<Error>(std::move(batch.error()));
    }
    global.microBatches.push_back(std::move(*batch));
  }
  if (m_project.data.sources.front().weight) global.passes = m_run.source->passes();
  return global;
}

void RunLoop::setState(RunState state, const std::string& reason) {
  m_gauge.state = state;
  // What a full disk keeps from being written waits in memory and is written later.
  (void)report(StateChanged{state, reason});
}

Status RunLoop::report(decltype(RunEvent::body) body) {
  return m_reporter.report({unixTime(), m_run.state.step, std::move(body)});
}

void RunLoop::alert(const std::string& kind, const std::string& message, const std::string& advice) {
  m_log.warning("{}; {}", message, advice);
  (void)report(Alert{kind, message, advice});
}

Status RunLoop::train() {
  const Status outcome = trainToEnd();
  // Wherever a stop was heard, what has been trained is saved.
  if (!outcome && outcome.error().kind == ErrorKind::Interrupted) return interrupted();
  if (!outcome && m_dataFailed) {
    // What the run has learnt so far is as good as it was.
    if (const Status saving = saveNow(); !saving) m_log.warning("{}", saving.error().message);
  }
  return outcome;
}

Status RunLoop::trainToEnd() {
  m_gauge.totalSteps = totalSteps();
  m_gauge.step = m_run.state.step;
  m_cursor = m_run.source->cursor();
  setState(RunState::Running);
  if (m_run.state.step > 0) {
    m_saved = m_run.state; // it comes from the checkpoint of that step
    MILLRACE_TRY(const std::vector<CheckpointEntry> saved, m_checkpoints.list());
    for (const CheckpointEntry& entry : saved)
      if (entry.step == m_run.state.step) m_lastCheckpoint = entry.path;
    MILLRACE_CHECK(lookAtStep()); // what the run that was stopped or killed there had not come to
  }
  if (!finished()) {
    (void)m_clock.take(); // what came before is no part of the first step
    MILLRACE_TRY(Global current, nextBatch());
    while (!finished()) {
      MILLRACE_TRY(Global next, nextBatch());
      MILLRACE_CHECK(trainStep(current, next));
      current = std::move(next);
      MILLRACE_CHECK(afterStep());
    }
  }
  if (m_run.state.step > 0 && m_run.state.discardedSteps == m_run.state.step)
    return failed(fmt::format("all {} steps had a loss or gradient norm that is not finite and were discarded, so that "
                              "nothing was trained: lower training.learning_rate, or look at the weights that it "
                              "began with",
                              m_run.state.step));
  return finish();
}

Status RunLoop::trainStep(const Global& current, const Global& next) {
  TrainerState& state = m_run.state;
  const double rate = learningRateOf(state.step + 1);
  const Use before = use(); // evaluations and samples between steps are no part of the figures
  MILLRACE_TRY(const StepOutcome outcome, m_run.trainer->step({current.microBatches, next.microBatches, rate},
                                                              [this] { return m_requests.stopping(); }));
  const double seconds = m_clock.take();
  ++state.step;
  m_cursor = next.cursor;
  state.tokens += m_tokensPerStep;
  state.elapsedSeconds += seconds;
  state.optimizerSteps = m_run.trainer->updates();
  if (outcome.discarded) {
    ++state.discardedSteps;
    ++state.discardedInRow;
  } else {
    state.discardedInRow = 0;
    state.lossAverage = state.lossAverage ? *state.lossAverage * 0.98 + outcome.loss * 0.02 : outcome.loss;
  }
  StepMetrics metrics = metricsOf(outcome, seconds, rate, before);
  metrics.passes = current.passes;
  passed(current.passes);
  m_gauge.step = state.step;
  m_gauge.loss = outcome.loss;
  m_gauge.tokensPerSecond = metrics.tokensPerSecond;
  if (Status written = report(metrics); !written) {
    if (written.error().kind != ErrorKind::OutOfSpace) return written;
    MILLRACE_CHECK(waitForSpace(written.error(), [this] { return m_reporter.retry(); }));
  }
  if (!outcome.discarded) {
    if (const auto usual = m_lossWatch.spikeAbove(outcome.loss))
      alert("loss-spike",
            fmt::format("step {}: the loss jumped to {:.4g} from about {:.4g}", state.step, outcome.loss, *usual),
            "if it does not come back, stop and go on from an earlier checkpoint with a lower training.learning_rate");
    return {};
  }
  alert("non-finite",
        fmt::format("step {}: the loss is {} and the gradient norm {}; the step was discarded ({} in a row)",
                    state.step, outcome.loss, outcome.gradNorm, state.discardedInRow),
        m_project.training.clip == ClipMode::Off
            ? "with clipping off parts of it may have been applied: set training.clip to exact"
            : "if it goes on, lower training.learning_rate or look at the data");
  if (state.discardedInRow < m_project.training.maxBadSteps) return {};
  return failed(fmt::format(
      "{} steps in a row had a loss or gradient norm that is not finite; the last good checkpoint stands: export "
      "it and start a new run from that folder, with a lower training.learning_rate",
      state.discardedInRow));
}

RunLoop::Use RunLoop::use() const {
  const Streams& streams = m_run.trainer->runner().streams();
  return {streams.compute->use(), streams.copyIn->use(), m_run.trainer->busUse() - m_run.trainer->updatesBusUse()};
}

LinkMetrics RunLoop::diskSinceLastStep() {
  const DiskUse now = m_run.disk->use();
  const DiskUse before = std::exchange(m_diskBefore, now);
  const bool measured = m_run.rates.measured;
  return {"disk",
          now.read.bytes - before.read.bytes,
          now.write.bytes - before.write.bytes,
          now.read.seconds - before.read.seconds,
          now.write.seconds - before.write.seconds,
          measured ? m_run.rates.diskRead : 0,
          measured ? m_run.rates.diskWrite : 0};
}

StepMetrics RunLoop::metricsOf(const StepOutcome& outcome, double seconds, double rate, const Use& before) {
  StepMetrics metrics;
  metrics.step = m_run.state.step;
  metrics.time = unixTime();
  metrics.loss = outcome.loss;
  metrics.gradNorm = outcome.gradNorm;
  metrics.learningRate = rate;
  metrics.tokens = m_tokensPerStep;
  metrics.tokensTotal = m_run.state.tokens;
  metrics.totalSteps = expectedSteps(m_run.state.step);
  metrics.unmaskedTargets = outcome.targets;
  metrics.seconds = seconds;
  metrics.tokensPerSecond = static_cast<double>(m_tokensPerStep) / std::max(seconds, 1e-9);
  metrics.clipFactor = outcome.clipFactor;
  metrics.discarded = outcome.discarded;
  metrics.forwardSeconds = outcome.forwardSeconds;
  metrics.backwardSeconds = outcome.backwardSeconds;
  const auto [compute, in, bus] = use();
  const double optimizer = m_run.trainer->optimizerSeconds();
  metrics.optimizerSeconds = optimizer - m_optimizerBefore;
  m_optimizerBefore = optimizer;
  const BusUse updates = m_run.trainer->updatesBusUse();
  const BusUse moved = bus - before.bus + (updates - m_updatesBefore);
  m_updatesBefore = updates;
  const bool measured = m_run.rates.measured;
  metrics.links.push_back({"device", moved.in, moved.out, moved.secondsIn, moved.secondsOut,
                           measured ? m_run.rates.in : 0, measured ? m_run.rates.out : 0});
  if (m_run.disk) metrics.links.push_back(diskSinceLastStep());
  const auto stalled = [](const StreamUse& now, const StreamUse& then, Stall cause) {
    const auto i = static_cast<std::size_t>(cause);
    return now.stallSeconds[i] - then.stallSeconds[i];
  };
  // Weights that come late because AdamW is still at work are the optimizer's fault.
  const double forOptimizer =
      std::min(stalled(in, before.in, Stall::Optimizer), stalled(compute, before.compute, Stall::Weights));
  metrics.stalls.waitOptimizer = forOptimizer + stalled(compute, before.compute, Stall::Optimizer);
  metrics.stalls.waitWeights = stalled(compute, before.compute, Stall::Weights) - forOptimizer;
  metrics.stalls.waitCopyOut =
      stalled(compute, before.compute, Stall::Gradients) + stalled(compute, before.compute, Stall::Activations);
  metrics.stalls.waitData = stalled(compute, before.compute, Stall::Data) + std::exchange(m_dataSeconds, 0);
  metrics.boundSeconds = m_run.rates.measured ? m_run.time.bound : 0;
  metrics.predictedSeconds = m_run.time.seconds * m_correction.value_or(1);
  const double ratio = seconds / std::max(m_run.time.seconds, 1e-9);
  m_correction = m_correction ? *m_correction + correctionShare * (ratio - *m_correction) : ratio;
  metrics.peak = {m_run.device->memoryUse(MemorySpace::Device).peak, m_run.device->memoryUse(MemorySpace::Host).peak};
  metrics.planned = {m_run.plan.total(MemoryTier::Device), m_run.plan.total(MemoryTier::Host)};
  if (m_run.gpuMonitor) metrics.gpu = m_run.gpuMonitor->take();
  return metrics;
}

Status RunLoop::lookAtStep() {
  if (finished()) return {}; // finish() does
  if (due(m_project.evaluation.every)) MILLRACE_CHECK(evaluateNow());
  if (due(m_project.samples.every)) MILLRACE_CHECK(sampleNow());
  return m_project.checkpoint.keepBest && isBest() ? saveNow() : Status{};
}

Status RunLoop::afterStep() {
  MILLRACE_CHECK(lookAtStep());
  const double minutes = m_project.checkpoint.everyMinutes;
  const bool byTime = minutes > 0 && secondsSince(m_lastSave) >= minutes * 60;
  if (m_requests.takeCheckpoint() || (!finished() && (due(m_project.checkpoint.every) || byTime)))
    MILLRACE_CHECK(saveNow());
  if (m_requests.stopping()) return failure(ErrorKind::Interrupted, "stopped on request");
  return waitWhilePaused();
}

Status RunLoop::waitWhilePaused() {
  if (!m_requests.paused()) return {};
  m_run.trainer->applyPending();
  const StepClock::Stop outside(m_clock);
  m_run.dataset->setPaused(true);
  setState(RunState::Paused, "on request");
  while (m_requests.paused() && !m_requests.stopping()) {
    m_requests.waitWhilePaused();
    if (m_requests.takeCheckpoint()) {
      MILLRACE_CHECK(saveNow());
      setState(RunState::Paused, "on request");
    }
  }
  m_run.dataset->setPaused(false);
  if (m_requests.stopping()) return failure(ErrorKind::Interrupted, "stopped on request");
  setState(RunState::Running);
  return {};
}

Status RunLoop::evaluateNow() {
  if (m_project.data.validationFraction == 0 || m_run.state.evaluatedStep == m_run.state.step) return {};
  const Result<bool> any = m_run.validation->hasRows();
  waitedForData();
  MILLRACE_CHECK(any);
  if (!*any) return {};
  setState(RunState::Evaluating);
  m_run.trainer->applyPending();
  const StepClock::Stop outside(m_clock);
  TrainerState& state = m_run.state;
  Result<EvaluationResult> evaluated = evaluate(m_run.trainer->runner(), *m_run.validation, m_project.evaluation.rows,
                                                [this] { return m_requests.stopping(); });
  waitedForData();
  MILLRACE_TRY(const EvaluationResult result, std::move(evaluated));
  state.evaluatedStep = state.step;
  const bool best =
      std::isfinite(result.loss) && (!state.bestValidationLoss || result.loss < *state.bestValidationLoss);
  if (best) {
    state.bestValidationLoss = result.loss;
    state.bestValidationStep = state.step;
    state.evaluationsWithoutImprovement = 0;
  } else {
    ++state.evaluationsWithoutImprovement;
  }
  (void)report(Evaluation{result.loss, result.perplexity, result.bitsPerByte, best, result.sets});
  if (m_project.evaluation.earlyStop > 0 && state.evaluationsWithoutImprovement == m_project.evaluation.earlyStop)
    m_log.info("validation loss has not improved for {} evaluations: training ends early",
               state.evaluationsWithoutImprovement);
  setState(RunState::Running);
  return {};
}

Status RunLoop::sampleNow() {
  if (m_run.state.sampledStep == m_run.state.step) return {};
  m_run.trainer->applyPending();
  const StepClock::Stop outside(m_clock);
  ForwardRunner& runner = m_run.trainer->runner();
  const SamplesConfig& samples = m_project.samples;
  for (const std::string& prompt : samples.prompts) {
    MILLRACE_TRY(std::vector<std::int32_t> tokens, m_run.tokenizer->encode(prompt, true));
    const std::optional<std::int32_t> end = m_run.tokenizer->endOfText();
    if (tokens.empty()) tokens.push_back(end.value_or(0));
    const std::size_t given = tokens.size();
    const auto limit = static_cast<std::size_t>(
        std::min(m_project.training.context, static_cast<std::int64_t>(given) + samples.tokens));
    // A seed for each step and prompt, so that a resumed run draws the same samples.
    Sampler sampler({samples.temperature, samples.topK, samples.topP},
                    hash64(fmt::format("{}: {}", m_run.state.step, prompt), static_cast<std::uint64_t>(samples.seed)));
    while (tokens.size() < limit) {
      if (m_requests.stopping()) return failure(ErrorKind::Interrupted, "stopped while sampling");
      const std::vector<float> logits = runner.nextLogits(tokens);
      MILLRACE_TRY(const std::int32_t token, sampler.sample(logits));
      if (token == end || token == m_run.dataset->turnEnd() || token >= m_run.tokenizer->vocabularySize()) break;
      tokens.push_back(token);
    }
    const std::span<const std::int32_t> all(tokens);
    (void)report(Sample{prompt, continuationText(*m_run.tokenizer, all.first(given), all.subspan(given), true)});
  }
  m_run.state.sampledStep = m_run.state.step;
  return {};
}

Status RunLoop::finish() {
  m_run.trainer->applyPending();
  MILLRACE_CHECK(evaluateNow());
  MILLRACE_CHECK(sampleNow());
  MILLRACE_CHECK(saveNow());
  drawCharts();
  return {};
}

void RunLoop::drawCharts() {
  (void)m_reporter.retry();
  // Charts can be drawn again at any time: a run is not failed for them.
  if (const Status drawn = writeCharts(m_files, m_directory); !drawn)
    m_log.warning("the charts could not be written: {}", drawn.error().message);
}

} // namespace millrace

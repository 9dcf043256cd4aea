#include "api/plan_advice.h"

#include "api/plan_outlook.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace millrace {

namespace {

constexpr std::size_t mostAdvice = 8;
/// In such steps disk space is advised.
constexpr Bytes terabyte = Bytes{1} << 40;
/// A gain below this share of the rate is within what a prediction can tell.
constexpr double worthTelling = 0.03;
/// Two changes are told together where they are so many times as fast as the one.
constexpr double worthCombining = 1.2;

/// One thing to change.
struct Option {
  std::string text;
  std::vector<ProjectChange> changes;
  std::function<void(Project&)> apply;
  bool nvme = false; ///< state may live on disk then
};

class Adviser {
 public:
  Adviser(const Planning& planning, const Project& project, const ModelSpec& spec, const PlanReport& base,
          const PlanOptions& options, double pace)
      : m_planning(planning), m_project(project), m_spec(spec), m_base(base), m_options(options), m_pace(pace) {
    listOptions();
  }

  std::vector<PlanAdvice> advice() {
    considerChanges(m_planning, 0);
    if (!m_base.fits() && m_advice.empty()) considerDisk();
    considerMemory();
    rank();
    return std::move(m_advice);
  }

 private:
  using Choice = std::vector<const Option*>;

  void offer(std::string text, std::vector<ProjectChange> changes, std::function<void(Project&)> apply,
             bool nvme = false) {
    m_choices.push_back({std::move(text), std::move(changes), std::move(apply), nvme});
  }

  void listOptions() {
    const TrainingConfig& training = m_project.training;
    const MemoryConfig& memory = m_project.memory;
    if (memory.vramLimit > 0 && memory.vramLimit < m_base.tiers[0].free)
      offer("use all device memory that is free", {{"memory.vram_limit", "0"}},
            [](Project& p) { p.memory.vramLimit = 0; });
    if (memory.ramLimit > 0 && memory.ramLimit < m_base.tiers[1].free)
      offer("use all host memory that is free", {{"memory.ram_limit", "0"}}, [](Project& p) { p.memory.ramLimit = 0; });
    if (memory.placement != PlacementChoice::Auto)
      offer("leave the placement to the planner", {{"memory.placement", "auto"}},
            [](Project& p) { p.memory.placement = PlacementChoice::Auto; });
    if (training.recompute != RecomputePolicy::Auto)
      offer("leave recomputing to the planner", {{"training.recompute", "auto"}},
            [](Project& p) { p.training.recompute = RecomputePolicy::Auto; });
    if (training.offloadActivations != Switch::Auto)
      offer("leave the offloading of activations to the planner", {{"training.offload_activations", "auto"}},
            [](Project& p) { p.training.offloadActivations = Switch::Auto; });
    if (training.scheduleGroup > 0)
      offer("leave the schedule's group to the planner", {{"training.schedule_group", "0"}},
            [](Project& p) { p.training.scheduleGroup = 0; });
    if (training.precision != Precision::Bf16)
      offer("compute in bf16, with fp32 masters as before", {{"training.precision", "bf16"}},
            [](Project& p) { p.training.precision = Precision::Bf16; });
    if (training.precision == Precision::Fp32 && m_planning.target().gpu >= 0)
      offer("let the GPU round the factors of matrix products to tf32", {{"training.precision", "tf32"}},
            [](Project& p) { p.training.precision = Precision::Tf32; });
    if (training.clip == ClipMode::Exact)
      offer("let gradients wait in bf16 for the clip factor", {{"training.clip", "exact-bf16"}},
            [](Project& p) { p.training.clip = ClipMode::ExactBf16; });
    if (training.clip != ClipMode::Off)
      offer("do without clipping: few gradients wait, and AdamW runs during backward as well",
            {{"training.clip", "off"}, {"training.max_grad_norm", "null"}},
            [](Project& p) { p.training.clip = ClipMode::Off; });
    if (!m_planning.target().nvme)
      offer(
          "let state live on an NVMe drive as well", {{"memory.nvme.directories", R"(["DIR"])"}}, [](Project&) {},
          true);
    const CheckpointConfig& checkpoint = m_project.checkpoint;
    if (checkpoint.keep > 1 || checkpoint.keepBest)
      offer("keep one checkpoint", {{"checkpoint.keep", "1"}, {"checkpoint.keep_best", "false"}}, [](Project& p) {
        p.checkpoint.keep = 1;
        p.checkpoint.keepBest = false;
      });
    if (m_base.fits() && checkpoint.everyMinutes > 0) {
      const double minutes = 4 * checkpoint.everyMinutes;
      const std::int64_t steps = 4 * checkpoint.every;
      std::vector<ProjectChange> changes{{"checkpoint.every_minutes", fmt::format("{}", minutes)}};
      if (steps > 0) changes.push_back({"checkpoint.every", std::to_string(steps)});
      offer("write a checkpoint a quarter as often", std::move(changes), [minutes, steps](Project& p) {
        p.checkpoint.everyMinutes = minutes;
        p.checkpoint.every = steps;
      });
    }
    offerBatches();
  }

  /// Fewer rows at once and shorter rows with the same step, and other steps. Micro-batches are named wherever rows
  /// change, since a project that gives training.tokens_per_step has others for each size of a row.
  void offerBatches() {
    const TrainingConfig& training = m_project.training;
    const std::int64_t batches = training.microBatches;
    for (std::int64_t rows = training.microBatch / 2, tries = 0; rows > 0 && tries < 3; ++tries) {
      const std::int64_t more = (training.microBatch * batches + rows - 1) / rows;
      offerRows(fmt::format("compute {} row{} at once, in {} micro-batches", rows, rows == 1 ? "" : "s", more), rows,
                more, training.context);
      rows = tries == 1 ? (rows > 1 ? 1 : 0) : rows / 2;
    }
    if (m_base.fits()) {
      if (m_base.gpus == 0) return;
      for (const std::int64_t times : {2, 4})
        offer(fmt::format("take {} times as many tokens a step, which also changes what is learnt", times),
              {{"training.micro_batches", std::to_string(batches * times)}},
              [times](Project& p) { p.training.microBatches *= times; });
      return;
    }
    for (const std::int64_t part : {2, 4})
      if (const std::int64_t fewer = batches / part; fewer > 0)
        offer(fmt::format("take {} micro-batch{} a step, which also changes what is learnt", fewer,
                          fewer == 1 ? "" : "es"),
              {{"training.micro_batches", std::to_string(fewer)}},
              [fewer](Project& p) { p.training.microBatches = fewer; });
    for (const std::int64_t part : {2, 4}) {
      const std::int64_t context = training.context / part;
      if (context < 128) break;
      offerRows(fmt::format("train on rows of {} tokens", context), training.microBatch, batches * part, context);
      if (training.microBatch > 1)
        offerRows(fmt::format("train on rows of {} tokens, one at once", context), 1,
                  batches * part * training.microBatch, context);
    }
  }

  void offerRows(std::string text, std::int64_t rows, std::int64_t batches, std::int64_t context) {
    std::vector<ProjectChange> changes;
    const auto change = [&](const char* key, std::int64_t value, std::int64_t before) {
      if (value != before) changes.push_back({key, std::to_string(value)});
    };
    change("training.context", context, m_project.training.context);
    change("training.micro_batch", rows, m_project.training.microBatch);
    changes.push_back({"training.micro_batches", std::to_string(batches)});
    offer(std::move(text), std::move(changes), [rows, batches, context](Project& p) {
      p.training.microBatch = rows;
      p.training.microBatches = batches;
      p.training.context = context;
    });
  }

  /// Two values of one key contradict each other.
  static bool together(const Option& a, const Option& b) {
    for (const ProjectChange& x : a.changes)
      for (const ProjectChange& y : b.changes)
        if (x.key == y.key) return false;
    return true;
  }

  /// Each option alone, and where it makes it fit with what makes that faster; where none does, two at a time; then as
  /// many as go together.
  void considerChanges(const Planning& planning, Bytes addDisk) {
    std::vector<std::pair<const Option*, double>> found;
    for (const Option& option : m_choices) {
      const std::size_t before = m_advice.size();
      consider(planning, {&option}, addDisk);
      if (m_advice.size() > before) found.emplace_back(&option, m_advice.back().tokensPerSecond);
    }
    if (m_base.fits()) return;
    for (const auto& [one, speed] : found)
      for (const Option& other : m_choices) {
        const bool alone = std::any_of(found.begin(), found.end(), [&](const auto& f) { return f.first == &other; });
        if (alone || !together(*one, other)) continue;
        const std::size_t before = m_advice.size();
        consider(planning, {one, &other}, addDisk);
        if (m_advice.size() > before && m_advice.back().tokensPerSecond < worthCombining * speed) m_advice.pop_back();
      }
    if (!m_advice.empty()) return;
    for (std::size_t i = 0; i < m_choices.size(); ++i)
      for (std::size_t j = i + 1; j < m_choices.size(); ++j)
        if (together(m_choices[i], m_choices[j])) consider(planning, {&m_choices[i], &m_choices[j]}, addDisk);
    if (!m_advice.empty()) return;
    Choice all; // of contradicting ones the last, which goes furthest
    for (auto option = m_choices.rbegin(); option != m_choices.rend(); ++option)
      if (std::all_of(all.begin(), all.end(), [&](const Option* other) { return together(*option, *other); }))
        all.push_back(&*option);
    std::reverse(all.begin(), all.end());
    consider(planning, all, addDisk);
  }

  void consider(const Planning& planning, const Choice& choice, Bytes addDisk) {
    Project changed = m_project;
    PlanAdvice advice;
    bool nvme = false;
    for (const Option* option : choice) {
      option->apply(changed);
      advice.text += (advice.text.empty() ? "" : "; ") + option->text;
      advice.changes.insert(advice.changes.end(), option->changes.begin(), option->changes.end());
      nvme = nvme || option->nvme;
    }
    if (addDisk > 0) advice.text += fmt::format("; have {} more of disk space", formatBytes(addDisk));
    advice.addDisk = addDisk;
    if (nvme)
      measure(planning.withMore(0, 0, true), changed, std::move(advice));
    else
      measure(planning, changed, std::move(advice));
  }

  /// Disk space to make or to buy, for checkpoints and for state that lives there: the least power of two that helps.
  void considerDisk() {
    for (Bytes disk = terabyte; disk <= Bytes{1} << 46 && m_advice.empty(); disk *= 2) {
      const Planning planning = m_planning.withMore(0, disk, false);
      PlanAdvice advice;
      advice.text = fmt::format("have {} more of disk space", formatBytes(disk));
      advice.addDisk = disk;
      measure(planning, m_project, std::move(advice));
      if (m_advice.empty()) considerChanges(planning, disk);
    }
  }

  /// Memory to buy: what is missing, in the steps in which it is sold.
  void considerMemory() {
    constexpr Bytes module = 16 * GiB;
    constexpr std::int64_t mostModules = 1 << 10;
    Bytes disk = 0;
    const auto with = [&](std::int64_t modules) { return m_planning.withMore(modules * module, disk, false); };
    // Where memory alone does not help, with a disk for checkpoints that is as large as need be.
    if (!m_base.fits() && !with(mostModules).fits(m_project, m_spec)) {
      disk = std::max<Bytes>(0, m_base.run.checkpointDisk - m_base.run.checkpointFree.value_or(0));
      disk = (disk + terabyte - 1) / terabyte * terabyte;
      if (disk == 0) return;
    }
    std::int64_t modules = 0;
    if (!m_base.fits()) {
      std::int64_t least = 0;
      modules = 1;
      while (modules <= mostModules && !with(modules).fits(m_project, m_spec)) {
        least = modules;
        modules *= 2;
      }
      if (modules > mostModules) return; // something else is missing
      while (modules - least > 1) {
        const std::int64_t middle = (least + modules) / 2;
        (with(middle).fits(m_project, m_spec) ? modules : least) = middle;
      }
    } else if (m_base.tiers[2].needed > 0) {
      modules = (m_base.tiers[2].needed + module - 1) / module; // what lives on disk, in RAM
    } else {
      return;
    }
    PlanAdvice advice;
    advice.text = fmt::format("add {} of RAM", formatBytes(modules * module));
    if (disk > 0) advice.text += fmt::format(", and have {} more of disk space", formatBytes(disk));
    advice.addRam = modules * module;
    advice.addDisk = disk;
    measure(with(modules), m_project, std::move(advice));
  }

  void measure(const Planning& planning, const Project& changed, PlanAdvice advice) {
    if (changed.training.context > m_spec.maxPositions) return;
    const Result<PlanOutcome> outcome = planning.plan(changed, m_spec);
    if (!outcome || outcome->verdict == Verdict::DoesNotFit) return;
    const PlannedStep& step = outcome->step;
    const double stepSeconds = step.time.seconds * m_pace;
    const Judgement judgement = judge(planning, changed, m_spec, *outcome, m_options, stepSeconds);
    advice.verdict = judgement.verdict;
    const auto more = [&](MemoryTier tier, std::size_t index, Bytes besides) {
      return step.memory.total(tier) + besides - m_base.tiers[index].needed;
    };
    advice.vram = more(MemoryTier::Device, 0, planning.driverBytes());
    advice.ram = more(MemoryTier::Host, 1, planning.programBytes(changed, m_spec));
    advice.nvme = more(MemoryTier::Disk, 2, 0);
    advice.tokensPerSecond = static_cast<double>(changed.training.tokensPerStep()) / stepSeconds;
    advice.tokensPerSecondMore = advice.tokensPerSecond - m_base.time.tokensPerSecond;
    advice.terabytesPerDay = (judgement.run.writtenPerDay - m_base.run.writtenPerDay) / 1e12;
    m_advice.push_back(std::move(advice));
  }

  void rank() {
    if (m_base.fits())
      std::erase_if(m_advice, [&](const PlanAdvice& advice) {
        const bool faster = advice.tokensPerSecondMore > worthTelling * m_base.time.tokensPerSecond;
        const bool spares = m_base.verdict == Verdict::Tight && advice.verdict == Verdict::Fits;
        const bool gentler = m_base.run.writtenPerStep > 0 &&
                             advice.terabytesPerDay * 1e12 < -worthTelling * m_base.run.writtenPerDay &&
                             advice.tokensPerSecondMore > -worthTelling * m_base.time.tokensPerSecond;
        return !faster && !spares && !gentler;
      });
    std::stable_sort(m_advice.begin(), m_advice.end(), [](const PlanAdvice& a, const PlanAdvice& b) {
      const bool buysA = a.addRam + a.addDisk > 0, buysB = b.addRam + b.addDisk > 0;
      if (buysA != buysB) return !buysA; // what costs nothing first
      return a.tokensPerSecond > b.tokensPerSecond;
    });
    if (m_advice.size() > mostAdvice) m_advice.resize(mostAdvice);
  }

  const Planning& m_planning;
  const Project& m_project;
  const ModelSpec& m_spec;
  const PlanReport& m_base;
  const PlanOptions& m_options;
  const double m_pace;
  std::vector<Option> m_choices;
  std::vector<PlanAdvice> m_advice;
};

} // namespace

std::vector<PlanAdvice> adviceFor(const Planning& planning, const Project& project, const ModelSpec& spec,
                                  const PlanReport& base, const PlanOptions& options, double pace) {
  return Adviser(planning, project, spec, base, options, pace).advice();
}

} // namespace millrace

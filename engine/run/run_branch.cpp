#include "run/run_branch.h"

#include "base/atomic_file.h"
#include "base/log.h"
#include "project/project_file.h"
#include "run/json_lines_reader.h"
#include "run/metrics_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace millrace {

namespace {

/// Keys that may not change between a checkpoint and what goes on from it.
std::vector<std::string> fixedKeysThatDiffer(const Project& run, const Project& branch) {
  std::vector<std::string> keys;
  const auto compare = [&](bool same, const char* key) {
    if (!same) keys.emplace_back(key);
  };
  compare(run.model == branch.model, "model");
  compare(run.tokenizer == branch.tokenizer, "tokenizer");
  compare(run.data.sources == branch.data.sources, "data.sources");
  compare(run.data.validationFraction == branch.data.validationFraction, "data.validation_fraction");
  compare(run.data.chat == branch.data.chat, "data.chat");
  compare(run.training.context == branch.training.context, "training.context");
  compare(run.training.precision == branch.training.precision, "training.precision");
  compare(run.training.seed == branch.training.seed, "training.seed");
  return keys;
}

Path checkpointOf(const BranchPoint& branch) {
  return RunDirectory(branch.run).checkpoints() / checkpointName(branch.step);
}

/// Lines of a file of JSON lines that are kept, under another name.
Status copyLines(FileSystem& files, const Path& from, const Path& to,
                 const std::function<bool(const std::string&)>& keep) {
  MILLRACE_TRY(AtomicFile copy, AtomicFile::create(files, to));
  JsonLinesReader lines(files, from);
  for (;;) {
    MILLRACE_TRY(const auto line, lines.next());
    if (!line) return copy.commit();
    if (!keep(line->text)) continue;
    MILLRACE_CHECK(copy.write(line->text));
    MILLRACE_CHECK(copy.write("\n"));
  }
}

} // namespace

Result<Project> projectOfRun(FileSystem& files, const Path& run) {
  const RunDirectory directory(run);
  MILLRACE_CHECK(requireRun(files, directory));
  MILLRACE_TRY(const Json contents, readRunFile(files, directory));
  const std::string source = directory.runFile().string();
  if (!contents.is_object() || !contents.contains("project"))
    return badInput(fmt::format("{}: has no project, expected the run.json of a run", source));
  return projectFromJson(contents.at("project"), source, std::filesystem::absolute(run));
}

Status checkBranch(FileSystem& files, const BranchPoint& branch, const Project& project) {
  MILLRACE_TRY(const Project run, projectOfRun(files, branch.run));
  if (!files.isDirectory(checkpointOf(branch))) {
    Log log;
    MILLRACE_TRY(const std::vector<CheckpointEntry> saved,
                 CheckpointStore(files, RunDirectory(branch.run).checkpoints(), log).list());
    std::vector<std::string> steps;
    for (const CheckpointEntry& entry : saved) steps.push_back(formatCount(entry.step));
    return badInput(fmt::format("{}: there is no checkpoint of step {}; {}", branch.run.string(),
                                formatCount(branch.step),
                                steps.empty() ? std::string("the run has none: resume it, or export a model elsewhere")
                                              : fmt::format("choose one of {}", fmt::join(steps, ", "))));
  }
  if (const std::vector<std::string> keys = fixedKeysThatDiffer(run, project); !keys.empty())
    return badInput(
        fmt::format("a branch goes on with the weights and the place in the data of its checkpoint, so that {} must "
                    "stay as in {}; for other ones export the model, and start a new run from that folder",
                    fmt::join(keys, ", "), branch.run.string()),
        keys.front());
  const TrainingLength& length = project.training.length;
  if (length.unit == LengthUnit::Steps && length.amount <= static_cast<double>(branch.step))
    return badInput(fmt::format("training.steps is {}, but the branch begins at step {}, and steps count from the "
                                "beginning of the run that it leaves: give more",
                                formatCount(static_cast<std::int64_t>(length.amount)), formatCount(branch.step)),
                    "training.steps");
  return {};
}

Result<RunDescription> describeBranch(FileSystem& files, const Project& project, const BranchPoint& branch) {
  MILLRACE_CHECK(checkBranch(files, branch, project));
  const RunDirectory origin(branch.run);
  // Asked first: whoever has it needs no third run to be described.
  if (!files.exists(origin.path() / "tokenizer.json"))
    return badInput(fmt::format("{}: has no tokenizer.json, without which its checkpoints cannot be gone on from",
                                branch.run.string()));
  MILLRACE_TRY(RunDescription description, readRunDescription(files, origin));
  description.project = project;
  description.branch = BranchPoint{std::filesystem::absolute(branch.run), branch.step};
  return description;
}

Status copyHistory(FileSystem& files, const BranchPoint& branch, const RunDirectory& directory) {
  const RunDirectory origin(branch.run);
  if (files.exists(origin.metrics())) {
    const auto isBefore = [&](const std::string& line) {
      const auto metrics = stepMetricsFromJson(line, origin.metrics().string());
      return metrics && metrics->step <= branch.step;
    };
    MILLRACE_CHECK(copyLines(files, origin.metrics(), directory.metrics(), isBefore));
  }
  if (!files.exists(origin.events())) return {};
  const auto isEvaluation = [&](const std::string& line) {
    const auto event = runEventFromJson(line, origin.events().string());
    return event && event->step <= branch.step && std::holds_alternative<Evaluation>(event->body);
  };
  return copyLines(files, origin.events(), directory.events(), isEvaluation);
}

Json branchToJson(const BranchPoint& branch) {
  return {{"run", branch.run.string()}, {"step", branch.step}};
}

Result<BranchPoint> branchFromJson(const Json& json, const std::string& source) {
  JsonReader reader(json, source, "branch.");
  BranchPoint branch;
  branch.run = reader.text("run", "");
  branch.step = reader.integer("step", -1, 0, std::numeric_limits<std::int64_t>::max());
  if (branch.run.empty()) reader.problem("run", "is missing, expected the directory of a run");
  MILLRACE_CHECK(reader.finish());
  return branch;
}

} // namespace millrace

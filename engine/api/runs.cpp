#include "engine/runs.h"

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/manifest.h"
#include "project/project_file.h"
#include "run/control_socket.h"
#include "run/json_lines_reader.h"
#include "run/run_status.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

namespace millrace {

namespace {

RunInfo infoOf(RunSummary summary) {
  RunInfo info;
  info.name = std::move(summary.name);
  info.path = std::move(summary.path);
  info.outcome = summary.status.outcome;
  info.reason = std::move(summary.status.reason);
  info.state = summary.status.state;
  if (summary.status.owner) info.owner = describe(*summary.status.owner);
  info.last = std::move(summary.last);
  info.changed = summary.changed;
  return info;
}

std::vector<Path> chartsOf(FileSystem& files, const Path& run) {
  std::vector<Path> charts;
  const Path folder = run / "charts";
  if (!files.isDirectory(folder)) return charts;
  const auto names = files.list(folder);
  if (!names) return charts; // a folder that cannot be read shows nothing
  for (const std::string& name : *names)
    if (Path(name).extension() == ".svg") charts.push_back(folder / name);
  return charts;
}

std::optional<Sample> lastSampleOf(FileSystem& files, const RunDirectory& run) {
  std::optional<Sample> sample;
  if (!files.exists(run.samples())) return sample;
  const auto file = files.open(run.samples(), OpenMode::Read);
  if (!file) return sample;
  (void)visitLinesBackward(**file, [&](const JsonLine& line) { // an unreadable file tells nothing
    const auto event = runEventFromJson(line.text, run.samples().string());
    if (const auto* found = event ? std::get_if<Sample>(&event->body) : nullptr) sample = *found;
    return !sample;
  });
  return sample;
}

Result<std::vector<CheckpointEntry>> checkpointsIn(FileSystem& files, const Path& folder) {
  Log log;
  return CheckpointStore(files, folder, log).list();
}

std::string_view wordOf(RunRequest request) {
  switch (request) {
  case RunRequest::Describe:
    return "status";
  case RunRequest::Pause:
    return "pause";
  case RunRequest::Resume:
    return "resume";
  case RunRequest::Checkpoint:
    return "checkpoint";
  case RunRequest::Stop:
    break;
  }
  return "stop";
}

/// Whether the project says the same as the one in run.json; a run.json without one says nothing.
bool differs(FileSystem& files, const RunDirectory& run, const Project& project) {
  const auto contents = readRunFile(files, run);
  if (!contents || !contents->is_object()) return false;
  const auto stored = contents->find("project");
  if (stored == contents->end() || !stored->is_object()) return false;
  const auto before = projectFromJson(*stored, run.runFile().string(), run.path());
  return before && *before != project;
}

CheckpointCheck checkOne(FileSystem& files, const Path& folder) {
  CheckpointCheck check;
  check.path = folder;
  if (const auto manifest = readManifest(files, folder)) {
    check.step = manifest->step;
    for (const ManifestFile& file : manifest->files) check.bytes += file.size;
  }
  if (const auto state = verifyCheckpoint(files, folder); !state) check.error = state.error();
  return check;
}

} // namespace

Result<RunInfo> runInfo(FileSystem& files, const Path& run) {
  MILLRACE_CHECK(requireRun(files, RunDirectory(run)));
  const RunDirectory directory(run);
  RunInfo info = infoOf(summarize(files, directory));
  if (const auto saved = checkpointsIn(files, directory.checkpoints()); saved && !saved->empty()) {
    info.checkpoint = saved->back().path;
    for (const CheckpointEntry& entry : *saved) info.checkpointSteps.push_back(entry.step);
  }
  info.charts = chartsOf(files, run);
  info.lastSample = lastSampleOf(files, directory);
  return info;
}

Result<std::vector<RunInfo>> runsIn(FileSystem& files, const Path& folder) {
  MILLRACE_TRY(std::vector<RunSummary> summaries, listRuns(files, folder));
  std::vector<RunInfo> runs;
  for (RunSummary& summary : summaries) runs.push_back(infoOf(std::move(summary)));
  return runs;
}

Result<Path> runsFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const auto absolute = [](const std::string& path, const char* name) -> Result<Path> {
    std::error_code code;
    Path result = std::filesystem::absolute(path, code);
    if (code) return badInput(fmt::format("{} is '{}': cannot be resolved: {}", name, path, code.message()));
    return result;
  };
  if (const std::string given = variable("MILLRACE_RUNS"); !given.empty()) return absolute(given, "MILLRACE_RUNS");
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty() && data.front() == '/')
    return Path(data) / "millrace" / "runs";
  std::string home = variable("HOME");
  if (home.empty()) {
    passwd entry = {};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) home = found->pw_dir;
  }
  if (home.empty())
    return badInput("no place for runs: HOME is not set; set MILLRACE_RUNS to a folder, or give --run-dir");
  return absolute(home + "/.local/share/millrace/runs", "HOME");
}

Path newRunDirectory(FileSystem& files, const Path& folder, const Project& project, double now) {
  const auto seconds = static_cast<std::time_t>(now);
  std::tm utc = {};
  ::gmtime_r(&seconds, &utc);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &utc);
  const std::string name = fmt::format("{}-{}", project.name, time);
  const auto taken = files.list(folder);
  if (!taken) return folder / name; // it is not there, or whoever makes the run is told why it cannot be looked at
  const auto isFree = [&](const std::string& candidate) {
    return std::find(taken->begin(), taken->end(), candidate) == taken->end();
  };
  std::string candidate = name;
  for (int number = 2; !isFree(candidate); ++number) candidate = fmt::format("{}-{}", name, number);
  return folder / candidate;
}

Result<StartDecision> decideStart(FileSystem& files, const Path& run, const Project& project) {
  using enum StartDecision::Action;
  if (!isRun(files, run)) return StartDecision{Start, false};
  const RunDirectory directory(run);
  const RunStatus status = runStatus(files, directory);
  if (status.outcome == RunOutcome::Live)
    return badInput(fmt::format("{}: {} works on this run now; follow it with: millrace watch {}", run.string(),
                                status.owner ? describe(*status.owner) : "a process", run.string()));
  if (status.outcome == RunOutcome::Finished) return StartDecision{Finished, differs(files, directory, project)};
  MILLRACE_TRY(const std::vector<CheckpointEntry> saved, checkpointsIn(files, directory.checkpoints()));
  if (saved.empty()) return StartDecision{Restart, false};
  return StartDecision{Resume, differs(files, directory, project)};
}

Result<Json> requestOfRun(FileSystem& files, const Path& run, RunRequest request) {
  MILLRACE_CHECK(requireRun(files, RunDirectory(run)));
  const RunDirectory directory(run);
  auto reply = sendControl(directory, {{"command", wordOf(request)}});
  if (!reply && reply.error().kind == ErrorKind::BadInput) {
    const RunStatus status = runStatus(files, directory);
    if (status.outcome == RunOutcome::Live) return tl::unexpected(reply.error());
    const std::string reason = status.reason.empty() ? "" : ": " + status.reason;
    const std::string advice =
        status.outcome == RunOutcome::Finished ? "" : fmt::format("; go on with: millrace resume {}", run.string());
    return badInput(fmt::format("{}: no process works on this run now, it is {}{}{}", run.string(),
                                toString(status.outcome), reason, advice));
  }
  if (!reply) return tl::unexpected(reply.error());
  const auto status = reply->find("status");
  return status == reply->end() ? Json() : *status;
}

Result<std::vector<CheckpointCheck>> checkCheckpoints(FileSystem& files, const Path& path,
                                                      const std::function<void(const CheckpointCheck&)>& checked) {
  if (!files.isDirectory(path))
    return badInput(fmt::format("{}: there is no such folder: give a checkpoint, a run directory, or its folder of "
                                "checkpoints",
                                path.string()));
  std::vector<Path> folders;
  const Path inside = path / "checkpoints";
  MILLRACE_TRY(const std::vector<CheckpointEntry> saved,
               checkpointsIn(files, files.isDirectory(inside) ? inside : path));
  for (const CheckpointEntry& entry : saved) folders.push_back(entry.path);
  if (folders.empty() && isRun(files, path))
    return badInput(fmt::format("{}: this run has no checkpoint yet", path.string()));
  if (folders.empty()) folders.push_back(path);
  std::vector<CheckpointCheck> checks;
  for (const Path& folder : folders) {
    checks.push_back(checkOne(files, folder));
    if (checked) checked(checks.back());
  }
  return checks;
}

} // namespace millrace

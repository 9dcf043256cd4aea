#include "run/run_directory.h"

#include "base/atomic_file.h"
#include "run/metrics_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>

namespace millrace {

namespace {

/// What a run holds beside its attempts of metrics; `owner` stays when a run is replaced, since it carries the lock.
constexpr std::array<std::string_view, 11> runEntries = {
    "run.json", "metrics.jsonl", "events.jsonl",   "samples.jsonl", "checkpoints", "log.txt",
    "control",  "owner",         "tokenizer.json", "charts",        "notes.json"};

bool belongsToRun(std::string_view name) {
  if (name.ends_with(".tmp")) name.remove_suffix(4);
  return std::find(runEntries.begin(), runEntries.end(), name) != runEntries.end() ||
         (name.starts_with("metrics.attempt-") && name.ends_with(".jsonl"));
}

Status makePrivate(const Path& path) {
  if (::chmod(path.c_str(), 0700) == 0) return {};
  const int code = errno;
  return badInput(fmt::format("{}: cannot make the folder private (mode 0700): {}; choose a folder of your own",
                              path.string(), std::error_code(code, std::generic_category()).message()));
}

} // namespace

std::string RunDirectory::name() const {
  const Path whole = m_path.lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

bool isRun(FileSystem& files, const Path& path) {
  return files.exists(RunDirectory(path).runFile());
}

namespace {
/// Neither a step nor a checkpoint would be lost with it: it was refused before it could train.
bool neverTrained(FileSystem& files, const RunDirectory& directory) {
  const auto last = lastMetrics(files, directory.metrics());
  if (!last || *last) return false;
  if (!files.exists(directory.checkpoints())) return true;
  const auto saved = files.list(directory.checkpoints());
  return saved && saved->empty();
}
} // namespace

Result<OwnedRun> createRun(FileSystem& files, const Path& path, ExistingRun existing) {
  const RunDirectory directory(path);
  MILLRACE_CHECK(files.createDirectories(path));
  MILLRACE_TRY(std::vector<std::string> names, files.list(path));
  // The owner's record comes first and goes last: where it is missing, names like those of a run are someone else's.
  const bool begun = isRun(files, path) || files.exists(directory.owner());
  for (const std::string& name : names)
    if (!begun || (!belongsToRun(name) && !isRun(files, path)))
      return badInput(fmt::format("{}: is not empty ({} is there) and not a run: choose an empty or a new folder",
                                  path.string(), name));
  const auto refuse = [&] {
    const auto last = lastMetrics(files, directory.metrics());
    const std::string progress = last && *last ? fmt::format(" of {} steps", formatCount((*last)->step)) : "";
    return badInput(fmt::format("{}: holds a run{} already: resume it, choose another folder, or ask to replace it "
                                "(--replace)",
                                path.string(), progress));
  };
  // Before the lock as well, since taking it overwrites what the owner's record says about the old run.
  const bool kept = existing == ExistingRun::Refuse && !neverTrained(files, directory);
  if (kept && isRun(files, path) && !probeOwner(directory.owner()).live) return refuse();
  MILLRACE_CHECK(makePrivate(path));
  MILLRACE_TRY(auto owner, OwnerLock::acquire(directory.owner()));
  if (isRun(files, path)) {
    if (kept) return refuse();
    // First what makes it a run: a replacement that is killed half way leaves no run, rather than a damaged one.
    MILLRACE_CHECK(files.remove(directory.runFile()));
    MILLRACE_CHECK(files.syncDirectory(path));
  }
  MILLRACE_TRY(names, files.list(path)); // what a replaced run, or one that never began, left
  for (const std::string& name : names)
    if (belongsToRun(name) && path / name != directory.owner()) MILLRACE_CHECK(files.remove(path / name));
  return OwnedRun{directory, std::move(owner)};
}

Status requireRun(FileSystem& files, const RunDirectory& run) {
  const std::string name = run.path().string();
  if (!files.exists(run.path())) return badInput(fmt::format("{}: there is no such run directory", name));
  if (!isRun(files, run.path())) return badInput(fmt::format("{}: is not a run directory: it has no run.json", name));
  return {};
}

Result<OwnedRun> openRun(FileSystem& files, const Path& path) {
  const RunDirectory directory(path);
  MILLRACE_CHECK(requireRun(files, directory));
  MILLRACE_CHECK(makePrivate(path));
  MILLRACE_TRY(auto owner, OwnerLock::acquire(directory.owner()));
  return OwnedRun{directory, std::move(owner)};
}

Status writeRunFile(FileSystem& files, const RunDirectory& run, const Json& contents) {
  try {
    return writeTextFile(files, run.runFile(), contents.dump(2) + "\n");
  } catch (const Json::type_error&) {
    return badInput(fmt::format("{}: a name in the project is not valid UTF-8, which the run could not go on from; "
                                "rename the file or folder",
                                run.runFile().string()));
  }
}

Result<Json> readRunFile(FileSystem& files, const RunDirectory& run) {
  return readJsonFile(files, run.runFile());
}

} // namespace millrace

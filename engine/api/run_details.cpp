#include "engine/run_details.h"

#include "checkpoint/checkpoint_store.h"
#include "model/blocks.h"
#include "model/config_import.h"
#include "run/owner_lock.h"
#include "run/run_history.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace millrace {

namespace {

std::string textAt(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "7.6 B parameters": what the model is called among people.
std::string shortCount(std::int64_t count) {
  const double value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.3g} B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.3g} M", value / 1e6);
  return formatCount(count);
}

void describeModel(RunDetails& details, const Json& contents, const std::string& source) {
  const auto config = contents.find("model");
  if (config == contents.end()) return;
  const auto spec = modelSpecFromConfig(*config, source);
  if (!spec) return;
  details.parameters = parameterCount(*spec);
  const std::string family = textAt(*config, "model_type");
  details.model = fmt::format("{}{} parameters", family.empty() ? "" : family + ", ", shortCount(details.parameters));
}

/// What lies in the folder of checkpoints, half-written and half-removed ones included.
Result<Bytes> bytesIn(FileSystem& files, const Path& checkpoints) {
  Bytes bytes = 0;
  if (!files.exists(checkpoints)) return bytes;
  MILLRACE_TRY(const std::vector<std::string> names, files.list(checkpoints));
  for (const std::string& name : names) {
    if (!name.starts_with("step-") || !files.isDirectory(checkpoints / name)) continue;
    MILLRACE_TRY(const Bytes taken, bytesOfCheckpoint(files, checkpoints / name));
    bytes += taken;
  }
  return bytes;
}

} // namespace

Result<RunDetails> runDetails(FileSystem& files, const Path& run) {
  RunDetails details;
  MILLRACE_TRY(details.info, runInfo(files, run));
  const RunDirectory directory(run);
  if (const auto contents = readRunFile(files, directory); contents && contents->is_object()) {
    if (const auto project = contents->find("project"); project != contents->end())
      details.project = textAt(*project, "name");
    describeModel(details, *contents, directory.runFile().string());
  }
  if (const auto history = readHistory(files, directory)) {
    details.began = history->began;
    if (!history->evaluations.empty()) details.lastValidation = history->evaluations.back();
    details.bestValidation = bestOf(history->evaluations);
  }
  Log log;
  const CheckpointStore store(files, directory.checkpoints(), log);
  if (const auto best = store.best()) details.bestCheckpoint = best->step;
  if (const auto saved = store.list())
    for (const CheckpointEntry& entry : *saved)
      details.checkpoints.push_back({entry.step, entry.path, bytesOfCheckpoint(files, entry.path).value_or(0)});
  return details;
}

Result<DeletedCheckpoints> deleteCheckpoints(FileSystem& files, const Path& run, const KeptCheckpoints& keep) {
  const RunDirectory directory(run);
  MILLRACE_CHECK(requireRun(files, directory));
  MILLRACE_TRY(const Descriptor held, holdOwnerFile(directory.owner()));
  Log log; // a damaged checkpoint that is passed over is deleted
  CheckpointStore store(files, directory.checkpoints(), log);
  MILLRACE_TRY(const Bytes before, bytesIn(files, directory.checkpoints()));
  MILLRACE_CHECK(store.recover());
  MILLRACE_TRY(const std::vector<CheckpointEntry> saved, store.list());
  std::set<std::int64_t> kept;
  if (keep.newest && !saved.empty()) {
    MILLRACE_TRY(const CheckpointEntry newest, store.latestGood());
    kept.insert(newest.step);
  }
  if (const auto best = store.best(); best && keep.best) kept.insert(best->step);
  DeletedCheckpoints result;
  for (const CheckpointEntry& entry : saved) {
    if (kept.count(entry.step)) {
      result.kept.push_back(entry.step);
      continue;
    }
    MILLRACE_CHECK(store.remove(entry.step));
    result.deleted.push_back(entry.step);
  }
  MILLRACE_TRY(const Bytes after, bytesIn(files, directory.checkpoints()));
  result.freed = before - after;
  return result;
}

} // namespace millrace

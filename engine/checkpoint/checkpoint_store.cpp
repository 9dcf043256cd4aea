#include "checkpoint/checkpoint_store.h"

#include "base/atomic_file.h"
#include "base/json_number.h"
#include "checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

namespace millrace {

namespace {

constexpr const char* bestName = "best.json";

std::optional<std::int64_t> stepOf(const std::string& name) {
  if (!name.starts_with("step-")) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  if (std::from_chars(name.data() + 5, end, step) != std::from_chars_result{end, std::errc()}) return std::nullopt;
  if (step < 0 || checkpointName(step) != name) return std::nullopt;
  return step;
}

} // namespace

CheckpointStore::CheckpointStore(FileSystem& files, Path folder, Log& log)
    : m_files(files), m_folder(std::move(folder)), m_log(log) {}

Status CheckpointStore::recover() {
  return removeLeftovers(m_files, m_folder);
}

Result<std::vector<CheckpointEntry>> CheckpointStore::list() const {
  std::vector<CheckpointEntry> entries;
  if (!m_files.exists(m_folder)) return entries;
  MILLRACE_TRY(const std::vector<std::string> names, m_files.list(m_folder));
  for (const std::string& name : names)
    if (const auto step = stepOf(name); step && m_files.isDirectory(m_folder / name))
      entries.push_back({*step, m_folder / name});
  std::sort(entries.begin(), entries.end(),
            [](const CheckpointEntry& a, const CheckpointEntry& b) { return a.step < b.step; });
  return entries;
}

Result<SavedCheckpoint> CheckpointStore::save(const CheckpointContents& contents, const SaveOptions& options) {
  MILLRACE_TRY(SavedCheckpoint saved, writeCheckpoint(m_files, m_folder, contents, options));
  m_knownGood.insert(saved.step);
  return saved;
}

Result<CheckpointEntry> CheckpointStore::latestGood(const std::vector<BlockSpec>* blocks) {
  MILLRACE_TRY(const std::vector<CheckpointEntry> entries, list());
  std::optional<Error> newest;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto verified = verifyCheckpoint(m_files, entry->path, blocks);
    if (verified) {
      m_knownGood.insert(entry->step);
      return *entry;
    }
    m_log.warning("checkpoint of step {} is passed over: {}", entry->step, verified.error().message);
    if (!newest) newest = verified.error();
  }
  if (!newest) return badInput(fmt::format("{}: holds no checkpoint", m_folder.string()));
  return badInput(fmt::format("{}: none of its {} checkpoints is good; the newest: {}", m_folder.string(),
                              entries.size(), newest->message));
}

Result<TrainerState> CheckpointStore::loadLatest(TrainingState& state) {
  MILLRACE_TRY(const std::vector<CheckpointEntry> entries, list());
  std::optional<Error> newest;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    auto loaded = loadCheckpoint(m_files, entry->path, state);
    if (loaded) {
      m_knownGood.insert(entry->step);
      return loaded;
    }
    m_log.warning("checkpoint of step {} is passed over: {}", entry->step, loaded.error().message);
    if (!newest) newest = loaded.error();
  }
  if (!newest) return badInput(fmt::format("{}: holds no checkpoint to resume from", m_folder.string()));
  return badInput(fmt::format("{}: none of its {} checkpoints is good; the newest: {}", m_folder.string(),
                              entries.size(), newest->message));
}

Error CheckpointStore::withAdvice(Error error, std::int64_t step, const std::vector<BlockSpec>* blocks) {
  std::string advice = "; no other checkpoint of this run is good";
  if (const auto entries = list()) {
    for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry) {
      if (entry->step == step || !verifyCheckpoint(m_files, entry->path, blocks)) continue;
      advice = fmt::format("; {} is good, use that one", entry->path.string());
      break;
    }
  }
  error.message += advice;
  return error;
}

Result<TrainerState> CheckpointStore::load(std::int64_t step, TrainingState& state) {
  auto loaded = loadCheckpoint(m_files, pathOf(step), state);
  if (!loaded) return tl::unexpected<Error>(withAdvice(std::move(loaded.error()), step, &state.blocks()));
  m_knownGood.insert(step);
  return loaded;
}

Result<TrainerState> CheckpointStore::verify(std::int64_t step, const std::vector<BlockSpec>* blocks) {
  auto verified = verifyCheckpoint(m_files, pathOf(step), blocks);
  if (!verified) {
    m_knownGood.erase(step);
    return tl::unexpected<Error>(withAdvice(std::move(verified.error()), step, blocks));
  }
  m_knownGood.insert(step);
  return verified;
}

Status CheckpointStore::markBest(std::int64_t step, double validationLoss) {
  if (!m_files.isDirectory(pathOf(step)))
    return badInput(fmt::format("{}: there is no such checkpoint to mark as the best", pathOf(step).string()));
  const Json json = {{"step", step}, {"validation_loss", numberToJson(validationLoss)}};
  return writeTextFile(m_files, m_folder / bestName, json.dump() + "\n");
}

std::optional<BestCheckpoint> CheckpointStore::best() const {
  const Path path = m_folder / bestName;
  if (!m_files.exists(path)) return std::nullopt;
  const auto json = readJsonFile(m_files, path, MiB);
  if (!json) {
    m_log.warning("no checkpoint counts as the best: {}", json.error().message);
    return std::nullopt;
  }
  JsonReader reader(*json, path.string());
  BestCheckpoint best;
  best.step = reader.integer("step", -1, 0, INT64_MAX);
  const auto loss = numberFromJson(reader.value("validation_loss"));
  if (const Status read = reader.finish(); !read || !loss || best.step < 0) {
    m_log.warning("no checkpoint counts as the best: {}",
                  read ? path.string() + ": step or validation_loss is missing" : read.error().message);
    return std::nullopt;
  }
  best.validationLoss = *loss;
  if (!m_files.isDirectory(pathOf(best.step))) return std::nullopt;
  return best;
}

bool CheckpointStore::isGood(std::int64_t step) {
  if (m_knownGood.count(step)) return true;
  if (!verifyCheckpoint(m_files, pathOf(step))) return false;
  m_knownGood.insert(step);
  return true;
}

Status CheckpointStore::rotate(int keep) {
  MILLRACE_TRY(const std::vector<CheckpointEntry> entries, list());
  std::vector<CheckpointEntry> stay, leave; // newest first
  const auto best = this->best();
  int kept = 0;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    // What has no manifest is no checkpoint to go on from, and takes no place of one.
    const bool complete = readManifest(m_files, entry->path).has_value();
    const bool recent = kept < std::max(1, keep);
    if (complete && recent) ++kept;
    (recent || (best && best->step == entry->step) ? stay : leave).push_back(*entry);
  }
  if (leave.empty()) return {};

  const auto known = [this](const CheckpointEntry& entry) { return m_knownGood.count(entry.step) > 0; };
  const auto good = [this](const CheckpointEntry& entry) { return isGood(entry.step); };
  if (std::none_of(stay.begin(), stay.end(), known) && std::none_of(stay.begin(), stay.end(), good)) {
    const auto lastGood = std::find_if(leave.begin(), leave.end(), good);
    if (lastGood == leave.end()) return {}; // nothing is known to be good: leave all of it to a person
    m_log.warning("the checkpoint of step {} is kept: all newer ones are damaged", lastGood->step);
    leave.erase(lastGood);
  }
  for (const CheckpointEntry& entry : leave) MILLRACE_CHECK(remove(entry.step));
  return {};
}

Status CheckpointStore::remove(std::int64_t step) {
  const Path path = pathOf(step);
  if (!m_files.exists(path)) return {};
  // It loses its name before its files, so that a half-removed folder never looks like a checkpoint.
  Path doomed = path;
  doomed += fmt::format(".tmp-{}", ::getpid());
  MILLRACE_CHECK(m_files.remove(doomed));
  MILLRACE_CHECK(m_files.rename(path, doomed));
  MILLRACE_CHECK(m_files.syncDirectory(m_folder));
  m_knownGood.erase(step);
  return m_files.remove(doomed);
}

Result<Bytes> bytesOfCheckpoint(FileSystem& files, const Path& folder) {
  MILLRACE_TRY(const std::vector<std::string> names, files.list(folder));
  Bytes bytes = 0;
  for (const std::string& name : names) {
    if (files.isDirectory(folder / name)) continue; // none of a checkpoint's
    MILLRACE_TRY(const auto file, files.open(folder / name, OpenMode::Read));
    MILLRACE_TRY(const Bytes size, file->size());
    bytes += size;
  }
  return bytes;
}

} // namespace millrace

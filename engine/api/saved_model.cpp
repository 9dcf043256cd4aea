#include "api/saved_model.h"

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shards.h"
#include "model/config_import.h"
#include "model/foreign_models.h"
#include "model/vocabulary_growth.h"
#include "run/model_companions.h"
#include "run/run_directory.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr const char* configName = "config.json";
constexpr const char* tokenizerName = "tokenizer.json";
constexpr int looksAtARun = 20; ///< to look at a run whose checkpoints change

/// Everything in a checkpoint except the moments, which use without training does not read. The step.
Result<std::int64_t> verifyForUse(FileSystem& files, const Path& folder) {
  MILLRACE_TRY(const Manifest manifest, readManifest(files, folder));
  const auto isMoments = [](const std::string& name) {
    return std::any_of(statePlanes.begin(), statePlanes.end(), [&](StatePlane plane) {
      return plane != StatePlane::Master && name.starts_with(std::string(planeName(plane)) + "-");
    });
  };
  if (!manifest.find(configName))
    return badInput(
        fmt::format("{}: has no config.json, which says what model its tensors belong to", folder.string()));
  for (const ManifestFile& entry : manifest.files)
    if (!isMoments(entry.name)) MILLRACE_CHECK(verifyFile(files, folder, entry));
  return manifest.step;
}

struct Found {
  Path folder;
  std::int64_t step = 0;
};

std::optional<std::int64_t> newestStep(FileSystem& files, const Path& run) {
  Log log;
  const auto entries = CheckpointStore(files, RunDirectory(run).checkpoints(), log).list();
  return entries && !entries->empty() ? std::optional(entries->back().step) : std::nullopt;
}

Result<Found> checkpointOfRun(FileSystem& files, const ModelChoice& choice, std::vector<std::string>& warnings) {
  Log log;
  log.addListener([&](LogLevel level, std::string_view message) {
    if (level >= LogLevel::Warning) warnings.emplace_back(message);
  });
  const CheckpointStore store(files, RunDirectory(choice.path).checkpoints(), log);
  MILLRACE_TRY(std::vector<CheckpointEntry> entries, store.list());
  if (entries.empty()) return badInput(fmt::format("{}: the run has saved no checkpoint yet", choice.path.string()));
  if (choice.checkpoint == CheckpointChoice::Best) {
    const auto best = store.best();
    if (!best)
      return badInput(fmt::format("{}: none of the run's checkpoints is marked as the best (it has not been evaluated, "
                                  "or that checkpoint is gone); use the latest",
                                  choice.path.string()));
    std::erase_if(entries, [&](const CheckpointEntry& entry) { return entry.step != best->step; });
  }
  if (choice.step) {
    std::string steps;
    for (const CheckpointEntry& entry : entries) steps += fmt::format("{}{}", steps.empty() ? "" : ", ", entry.step);
    std::erase_if(entries, [&](const CheckpointEntry& entry) { return entry.step != *choice.step; });
    if (entries.empty())
      return badInput(fmt::format("{}: the run has no checkpoint of step {}; there are those of steps {}",
                                  choice.path.string(), *choice.step, steps));
  }
  std::string newest;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto step = verifyForUse(files, entry->path);
    if (step) return Found{entry->path, *step};
    if (newest.empty()) newest = step.error().message;
    warnings.push_back(fmt::format("checkpoint of step {} is passed over: {}", entry->step, step.error().message));
  }
  if (choice.step) return badInput(fmt::format("the checkpoint of step {} is damaged: {}", *choice.step, newest));
  if (choice.checkpoint == CheckpointChoice::Best)
    return badInput(fmt::format("the best checkpoint is damaged: {}; use the latest", newest));
  return badInput(fmt::format("{}: none of its {} checkpoints is good; the newest: {}", choice.path.string(),
                              entries.size(), newest));
}

} // namespace

Result<SavedModel> SavedModel::open(FileSystem& files, const ModelChoice& choice) {
  const std::string name = choice.path.string();
  if (choice.step && choice.checkpoint == CheckpointChoice::Best)
    return badInput("the best checkpoint and that of a step are asked for: name one of them");
  if (!files.exists(choice.path))
    return badInput(fmt::format("{}: there is no such folder; expected a checkpoint, a run or a model", name));
  constexpr const char* expected = "expected a checkpoint folder (with manifest.json), a run directory (with run.json) "
                                   "or a Hugging Face model folder "
                                   "(with config.json and model.safetensors or model.safetensors.index.json)";
  MILLRACE_CHECK(refuseForeignFolder(files, choice.path));

  SavedModel source;
  const bool run = !files.exists(choice.path / manifestName) && isRun(files, choice.path);
  if (choice.step && !run)
    return badInput(fmt::format("{}: is no run, and only a run has checkpoints of several steps; name the checkpoint's "
                                "folder, or the run",
                                name));
  if (choice.checkpoint == CheckpointChoice::Best && !run)
    return badInput(
        fmt::format("{}: is no run, and only of a run's checkpoints one is the best; name the run, or leave "
                    "out --best",
                    name));
  if (files.exists(choice.path / manifestName)) {
    MILLRACE_TRY(source.m_step, verifyForUse(files, choice.path));
    MILLRACE_CHECK(source.load(files, choice.path));
    return source;
  }
  if (run) {
    MILLRACE_CHECK(source.loadOfRun(files, choice));
    return source;
  }
  if (files.exists(choice.path / "state.json"))
    return badInput(fmt::format("{}: a checkpoint without its {}: it is incomplete; use another checkpoint of the run",
                                name, manifestName));
  if (!files.exists(choice.path / configName)) return badInput(fmt::format("{}: {}", name, expected));
  MILLRACE_CHECK(source.load(files, choice.path));
  return source;
}

/// A run at work removes checkpoints while they are looked at, and saves a newer one before it does: where something is
/// wrong and there is a newer one by then, it is looked at anew.
Status SavedModel::loadOfRun(FileSystem& files, const ModelChoice& choice) {
  for (int attempt = 1;; ++attempt) {
    const auto before = newestStep(files, choice.path);
    std::vector<std::string> passedOver;
    const Result<Found> found = checkpointOfRun(files, choice, passedOver);
    m_warnings = passedOver;
    Status loaded = found ? load(files, found->folder) : Status(tl::unexpected<Error>(found.error()));
    const bool settled = attempt == looksAtARun || newestStep(files, choice.path) == before;
    if ((loaded && passedOver.empty()) || settled) {
      if (loaded) m_step = found->step;
      return loaded;
    }
  }
}

Status SavedModel::load(FileSystem& files, const Path& folder) {
  m_folder = folder;
  m_endTokens.clear();
  MILLRACE_TRY(m_spec, readModelConfig(files, folder, &m_warnings));
  if (files.exists(folder / tokenizerName)) {
    MILLRACE_TRY(m_tokenizer, readTextFile(files, folder / tokenizerName, maximumTokenizerFile));
  } else {
    m_tokenizerAdvice = adviceOnTokenizer(files, folder);
  }
  m_companions = readCompanions(files, folder, folder, m_warnings);
  readGenerationSettings();
  MILLRACE_TRY(ModelReader reader, ModelReader::open(files, folder, m_spec));
  m_weights = std::make_shared<const ModelReader>(std::move(reader));
  // Files that are open stay whole; of those that were looked for by name some may have been gone already.
  if (!files.exists(folder)) return badInput(fmt::format("{}: was removed while it was read", folder.string()));
  return {};
}

/// Chat models name the tokens that end an answer here, and often not in their config. A broken file, which is not
/// among the companions, is no reason not to use the model.
void SavedModel::readGenerationSettings() {
  const auto settings = std::find_if(m_companions.begin(), m_companions.end(),
                                     [](const CheckpointFile& file) { return file.name == "generation_config.json"; });
  if (settings == m_companions.end()) return;
  const std::string path = (m_folder / settings->name).string();
  const auto json = parseJson(settings->text, path);
  if (!json || !json->is_object()) {
    m_warnings.push_back(json ? path + ": is no object; it is not used" : json.error().message);
    return;
  }
  const Json ends = json->value("eos_token_id", Json());
  const auto take = [&](const Json& id) {
    if (id.is_number_unsigned() && id.get<std::uint64_t>() < static_cast<std::uint64_t>(m_spec.vocabulary))
      m_endTokens.push_back(id.get<std::int32_t>());
  };
  if (ends.is_array())
    for (const Json& id : ends) take(id);
  else
    take(ends);
}

Result<Tokenizer> SavedModel::tokenizer() const {
  const std::string name = (m_folder / tokenizerName).string();
  if (!m_tokenizer) return badInput(fmt::format("{}: missing{}", name, m_tokenizerAdvice));
  return Tokenizer::parse(*m_tokenizer, name);
}

BlockValues SavedModel::blockValues() const {
  return [this](const BlockSpec& block, std::int64_t first, std::span<float> values) {
    return m_weights->readBlock(block, first, values);
  };
}

} // namespace millrace

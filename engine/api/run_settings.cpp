#include "api/run_settings.h"

#include "base/hash.h"
#include "checkpoint/checkpoint_store.h"
#include "model/vocabulary_growth.h"
#include "run/run_directory.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr Bytes largestState = MiB;

void flatten(RunSettings& settings, const std::string& key, const Json& value) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, inner] : value.items()) flatten(settings, key.empty() ? name : key + "." + name, inner);
    return;
  }
  if (settings.values.emplace(key, value).second) settings.keys.push_back(key);
}

bool differIn(const RunSettings& a, const RunSettings& b, const std::string& prefix) {
  const auto same = [&](const RunSettings& one, const RunSettings& other) {
    return std::all_of(one.keys.begin(), one.keys.end(), [&](const std::string& key) {
      if (key != prefix && !key.starts_with(prefix + ".")) return true;
      const Json* value = other.find(key);
      return value && *value == *one.find(key);
    });
  };
  return !same(a, b) || !same(b, a);
}

} // namespace

const Json* RunSettings::find(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

Result<RunSettings> readSettings(FileSystem& files, const Path& run) {
  const RunDirectory directory(run);
  MILLRACE_CHECK(requireRun(files, directory));
  MILLRACE_TRY(const Json contents, readRunFile(files, directory));
  RunSettings settings;
  if (!contents.is_object()) return settings;
  for (const auto& [name, value] : contents.items()) {
    if (name == "format" || name == "name") continue; // of the file itself
    if (name == "project") {
      Json project = value;
      // The whole config stands beside it, whether it was given here or in a folder.
      if (project.is_object() && project.contains("model") && project["model"].is_object())
        project["model"].erase("config");
      flatten(settings, "", project);
    } else {
      flatten(settings, name == "model" ? "model.config" : name, value);
    }
  }
  return settings;
}

std::vector<SettingDifference> differencesOf(const std::vector<RunSettings>& runs) {
  std::vector<SettingDifference> differences;
  std::map<std::string, bool> seen;
  for (const RunSettings& run : runs)
    for (const std::string& key : run.keys) {
      if (!seen.emplace(key, true).second) continue;
      SettingDifference difference{key, {}};
      for (const RunSettings& other : runs) {
        const Json* value = other.find(key);
        difference.values.push_back(value ? std::optional<Json>(*value) : std::nullopt);
      }
      const auto& values = difference.values;
      const bool same =
          std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values.front(); });
      if (!same) differences.push_back(std::move(difference));
    }
  return differences;
}

ValidationIdentity validationIdentity(FileSystem& files, const Path& run) {
  ValidationIdentity identity;
  const Path tokenizer = run / "tokenizer.json";
  if (files.exists(tokenizer))
    if (const auto text = readTextFile(files, tokenizer, maximumTokenizerFile)) {
      Hasher128 hasher;
      hasher.update(*text);
      identity.tokenizer = hasher.hex();
    }
  Log log;
  const auto saved = CheckpointStore(files, RunDirectory(run).checkpoints(), log).list();
  if (!saved) return identity;
  for (auto entry = saved->rbegin(); entry != saved->rend() && identity.data.empty(); ++entry) {
    const auto json = readJsonFile(files, entry->path / "state.json", largestState);
    if (!json) continue; // a damaged one; another may tell
    if (const auto state = trainerStateFromJson(*json, entry->path.string())) identity.data = state->dataFingerprint;
  }
  return identity;
}

std::vector<std::string> comparabilityWarnings(const std::vector<std::string>& names,
                                               const std::vector<RunSettings>& settings,
                                               const std::vector<ValidationIdentity>& identities) {
  std::vector<std::string> warnings;
  const auto differ = [&](std::size_t run, const std::string& key) {
    return differIn(settings.front(), settings[run], key);
  };
  for (std::size_t run = 1; run < settings.size(); ++run) {
    const std::string pair = fmt::format("{} and {}", names.front(), names[run]);
    const ValidationIdentity &a = identities.front(), &b = identities[run];
    const bool tokenizersKnown = !a.tokenizer.empty() && !b.tokenizer.empty();
    if (tokenizersKnown ? a.tokenizer != b.tokenizer : differ(run, "tokenizer")) {
      warnings.push_back(fmt::format("{} have different tokenizers: their losses are of different tokens and cannot be "
                                     "compared; bits per byte can (millrace eval)",
                                     pair));
      continue; // what else differs matters no more
    }
    const bool dataDiffer =
        !a.data.empty() && !b.data.empty()
            ? a.data != b.data
            : differ(run, "data.sources") || differ(run, "data.validation_fraction") || differ(run, "data.chat");
    if (dataDiffer)
      warnings.push_back(fmt::format("{} have different data: neither their training losses nor their validation "
                                     "losses can be compared",
                                     pair));
    else if (differ(run, "training.context"))
      warnings.push_back(fmt::format("{} have different training.context: the longer one predicts tokens from more of "
                                     "what is before them, and they validate on different rows",
                                     pair));
    else if (differ(run, "evaluation.rows"))
      warnings.push_back(
          fmt::format("{} have different evaluation.rows: their validation losses are of different texts", pair));
  }
  return warnings;
}

} // namespace millrace

// The settings of runs as flat lists of keys, and what of them makes losses incomparable.
#pragma once

#include "engine/run_compare.h"

#include <map>

namespace millrace {

/// Of a run.json, in its order.
struct RunSettings {
  std::vector<std::string> keys;
  std::map<std::string, Json> values;

  const Json* find(const std::string& key) const;
};

Result<RunSettings> readSettings(FileSystem& files, const Path& run);

/// Those that differ, in the order in which they come.
std::vector<SettingDifference> differencesOf(const std::vector<RunSettings>& runs);

/// What tokenizes and validates a run, as far as its files tell.
struct ValidationIdentity {
  std::string tokenizer; ///< hash of its tokenizer.json; empty: not known
  std::string data;      ///< fingerprint by a checkpoint: of sources, how they are read, tokenizer, share held back
};

ValidationIdentity validationIdentity(FileSystem& files, const Path& run);

/// Sentences about each run whose losses say little beside those of the first.
std::vector<std::string> comparabilityWarnings(const std::vector<std::string>& names,
                                               const std::vector<RunSettings>& settings,
                                               const std::vector<ValidationIdentity>& identities);

} // namespace millrace

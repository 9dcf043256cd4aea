#include "run/model_companions.h"

#include "base/json_reader.h"

#include <array>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr std::array ofTokenizer{"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                                 "chat_template.jinja",   "chat_template.json",      "tokenizer.model"};
constexpr std::array ofModel{"generation_config.json"};

} // namespace

std::span<const char* const> tokenizerCompanions() {
  return ofTokenizer;
}

std::span<const char* const> modelCompanions() {
  return ofModel;
}

std::vector<CheckpointFile> readCompanions(FileSystem& files, const Path& tokenizerFolder, const Path& modelFolder,
                                           std::vector<std::string>& warnings) {
  std::vector<CheckpointFile> found;
  const auto take = [&](const Path& folder, std::span<const char* const> names) {
    if (folder.empty()) return;
    for (const char* name : names) {
      const Path path = folder / name;
      if (!files.exists(path) || files.isDirectory(path)) continue;
      auto text = readTextFile(files, path, companionLimit);
      if (text && Path(name).extension() == ".json")
        if (auto json = parseJson(*text, path.string()); !json) text = tl::unexpected<Error>(json.error());
      if (text)
        found.push_back({name, std::move(*text)});
      else
        warnings.push_back(
            fmt::format("{}; it is not used, and left out of checkpoints and exports", text.error().message));
    }
  };
  take(tokenizerFolder, ofTokenizer);
  take(modelFolder, ofModel);
  return found;
}

} // namespace millrace

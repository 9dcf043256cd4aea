#include "engine/import.h"

#include "model/config_import.h"
#include "model/config_keys.h"
#include "model/foreign_models.h"
#include "model/vocabulary_growth.h"
#include "run/model_companions.h"
#include "storage/model_reader.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <fmt/format.h>
#include <set>

namespace millrace {

namespace {

constexpr Bytes tokenizerSettingsLimit = 16 * MiB;

/// What the tokenizer says, and how the model would grow for it.
Status lookAtTokenizer(FileSystem& files, const Path& path, const ModelSpec& spec, ImportedModel& model) {
  if (!files.exists(path)) {
    model.problems.others.push_back(
        fmt::format("{}: not found{}", path.string(), adviceOnTokenizer(files, path.parent_path())));
    return {};
  }
  MILLRACE_TRY(const std::string text, readTextFile(files, path, maximumTokenizerFile));
  const Result<Tokenizer> tokenizer = Tokenizer::parse(text, path.string());
  if (!tokenizer) {
    model.problems.others.push_back(tokenizer.error().message);
    return {};
  }
  model.tokens = tokenizer->vocabularySize();
  MILLRACE_TRY(const Json json, parseJson(text, path.string()));
  const auto growth = vocabularyGrowth(json, spec.vocabulary, path.string());
  if (!growth)
    model.problems.others.push_back(growth.error().message);
  else if (model.tokens > growth->rows)
    model.problems.others.push_back(
        fmt::format("{}: has {} tokens, and the model has {} rows: they do not belong together", path.string(),
                    model.tokens, spec.vocabulary));
  else
    model.addedRows = growth->rows - spec.vocabulary;
  return {};
}

/// A template of its own file, or in the tokenizer's settings.
bool hasChatTemplate(FileSystem& files, const Path& folder) {
  if (files.exists(folder / "chat_template.jinja")) return true;
  const Path settings = folder / "tokenizer_config.json";
  if (!files.exists(settings)) return false;
  const auto json = readJsonFile(files, settings, tokenizerSettingsLimit);
  return json && json->is_object() && json->contains("chat_template") && !json->at("chat_template").is_null();
}

void lookAtTensors(const SafetensorsReader& file, ImportedModel& model) {
  std::set<std::string> types;
  std::set<std::string> paths;
  for (const StoredTensor& tensor : file.tensors()) {
    types.emplace(toString(tensor.type));
    paths.insert(file.path(tensor).string());
    model.bytes += tensor.bytes;
  }
  model.types.assign(types.begin(), types.end());
  model.files = static_cast<std::int64_t>(paths.size());
}

} // namespace

Result<ImportedModel> importModel(FileSystem& files, const Path& folder, const std::optional<Path>& tokenizer) {
  if (!files.exists(folder))
    return badInput(fmt::format("{}: there is no such folder; this program downloads nothing: fetch the model's files "
                                "first",
                                folder.string()));
  ImportedModel model;
  model.folder = folder;
  MILLRACE_TRY(const ModelSpec spec, readModelConfig(files, folder, &model.warnings));
  model.family = std::string(familyName(spec.family));
  model.parameters = parameterCount(spec);
  model.layers = static_cast<std::int64_t>(spec.layers.size());
  model.hidden = spec.hidden;
  model.vocabulary = spec.vocabulary;
  model.maxPositions = spec.maxPositions;
  model.tied = spec.tiedEmbeddings;
  MILLRACE_TRY(const SafetensorsReader file, SafetensorsReader::open(files, folder));
  lookAtTensors(file, model);
  TensorProblems tensors = compareTensors(file, spec);
  if (tensors.none()) {
    // What only values can tell: tables that are tied and stored twice must be equal.
    const auto reader = ModelReader::open(files, folder, spec);
    if (!reader) model.problems.others.push_back(reader.error().message);
  }
  ImportProblems& problems = model.problems;
  problems.missing = std::move(tensors.missing);
  problems.unexpected = std::move(tensors.unexpected);
  problems.wrongShape = std::move(tensors.wrongShape);
  problems.notFloats = std::move(tensors.notFloats);
  problems.twice = std::move(tensors.twice);
  MILLRACE_CHECK(lookAtTokenizer(files, tokenizer.value_or(folder / "tokenizer.json"), spec, model));
  (void)readCompanions(files, folder, folder, model.warnings);
  model.chatTemplate = hasChatTemplate(files, folder);
  if (model.chatTemplate)
    if (const auto chat = ChatTemplate::load(files, folder); !chat) model.warnings.push_back(chat.error().message);
  return model;
}

} // namespace millrace

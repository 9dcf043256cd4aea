#include "project/project_file.h"

#include "base/atomic_file.h"
#include "project/overrides.h"
#include "project/project_sections.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

/// A name becomes part of folder names.
bool isProperName(const std::string& name) {
  if (name.empty() || name.size() > 100 || name.front() == '.' || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != '/' && c != 0x7F; });
}

/// What concerns several parts of the file.
Status checkTogether(Project& project, bool keepBestGiven, const std::string& source) {
  if (std::holds_alternative<TokenizerOfModel>(project.tokenizer) &&
      !std::holds_alternative<ModelFolder>(project.model))
    return badInput(fmt::format("{}: tokenizer is missing, and model.config brings none: give tokenizer.file, or "
                                "tokenizer.train to train one on the data",
                                source),
                    "tokenizer");
  if (project.data.validationFraction > 0) return {};
  const auto needsData = [&](const char* key) {
    return badInput(
        fmt::format("{}: {} needs validation data, but data.validation_fraction is 0: raise it or remove {}", source,
                    key, key),
        key);
  };
  if (project.evaluation.every > 0) return needsData("evaluation.every");
  if (project.checkpoint.keepBest && keepBestGiven) return needsData("checkpoint.keep_best");
  project.checkpoint.keepBest = false;
  return {};
}

} // namespace

Result<Project> projectFromJson(const Json& json, const std::string& source, const Path& folder) {
  if (!json.is_object())
    return badInput(fmt::format("{}: holds {}, expected a project: an object with \"format\": {}", source,
                                json.type_name(), projectFormat));
  JsonReader reader(json, source);
  if (!reader.has("format"))
    reader.problem("format", fmt::format("is missing, expected \"format\": {} in a project file", projectFormat));
  const std::int64_t format = reader.integer("format", projectFormat, 1, INT64_MAX);
  if (format > projectFormat)
    reader.problem("format",
                   fmt::format("is {}, this program reads up to {}: use a newer version of it", format, projectFormat));
  MILLRACE_CHECK(reader.status());

  const SectionContext context{source, folder};
  Project project;
  project.name = reader.text("name", Path(source).stem().string());
  if (!isProperName(project.name))
    reader.problem("name", "must be 1 to 100 characters without '/' or control characters, and not begin with . or -");
  const Json& model = reader.object("model");
  const Json& tokenizer = reader.has("tokenizer") ? reader.object("tokenizer") : reader.value("tokenizer");
  const Json& data = reader.object("data");
  const Json& training = reader.object("training");
  const Json& memory = reader.object("memory");
  const Json& checkpoint = reader.object("checkpoint");
  const Json& evaluation = reader.object("evaluation");
  const Json& samples = reader.object("samples");
  MILLRACE_CHECK(reader.finish());
  MILLRACE_TRY(project.model, readModelSection(model, context));
  MILLRACE_TRY(project.tokenizer, readTokenizerSection(tokenizer, context));
  MILLRACE_TRY(project.data, readDataSection(data, context));
  MILLRACE_TRY(project.training, readTrainingSection(training, context));
  MILLRACE_TRY(project.memory, readMemorySection(memory, context));
  MILLRACE_TRY(project.checkpoint, readCheckpointSection(checkpoint, context));
  MILLRACE_TRY(project.evaluation, readEvaluationSection(evaluation, context));
  MILLRACE_TRY(project.samples, readSamplesSection(samples, context));
  MILLRACE_CHECK(checkTogether(project, checkpoint.contains("keep_best"), source));
  return project;
}

Result<Project> parseProject(std::string_view json, const std::string& source, const Path& folder) {
  MILLRACE_TRY(const Json parsed, parseJson(json, source));
  return projectFromJson(parsed, source, folder);
}

Result<Project> readProject(FileSystem& files, const Path& path, const std::vector<std::string>& overrides) {
  MILLRACE_TRY(Json json, readJsonFile(files, path, 16 * MiB));
  if (!json.is_object())
    return badInput(fmt::format("{}: holds {}, expected a project: an object with \"format\": {}", path.string(),
                                json.type_name(), projectFormat));
  MILLRACE_CHECK(applyOverrides(json, overrides));
  std::error_code code;
  const Path absolute = std::filesystem::absolute(path, code);
  if (code) return badInput(fmt::format("{}: cannot find the file's folder: {}", path.string(), code.message()));
  return projectFromJson(json, path.string(), absolute.parent_path());
}

Status writeProject(FileSystem& files, const Path& path, const Project& project) {
  return writeTextFile(files, path, projectToJson(project).dump(2) + "\n");
}

} // namespace millrace

#include "engine/export.h"

#include "api/saved_model.h"
#include "base/atomic_file.h"
#include "base/bf16.h"
#include "model/config_import.h"
#include "run/control_tokens.h"
#include "storage/model_writer.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

namespace millrace {

namespace {

constexpr std::string_view temporaryMark = ".tmp-"; // and the process that writes

struct TypeOfExport {
  StoredType stored;
  const char* configName;
};

TypeOfExport typeOf(ExportType type) {
  switch (type) {
  case ExportType::Bf16:
    return {StoredType::BF16, "bfloat16"};
  case ExportType::Fp16:
    return {StoredType::F16, "float16"};
  case ExportType::Fp32:
    break;
  }
  return {StoredType::F32, "float32"};
}

/// What the writer would round to infinity.
Status checkRange(const ParameterSpec& parameter, std::span<const float> values) {
  constexpr float limit = 65520; // halfway between the largest half and the next power of two
  for (const float value : values)
    if (std::isfinite(value) && std::fabs(value) >= limit)
      return badInput(fmt::format("{} has the weight {}, and fp16 holds no number above 65504: export bf16 or fp32",
                                  parameter.name, value));
  return {};
}

/// Without it, programs take the customary tokenizer of the model's family and change its parts.
std::string tokenizerConfig(const Tokenizer& tokenizer, const ModelSpec& spec) {
  Json json;
  json["tokenizer_class"] = "PreTrainedTokenizerFast";
  const auto add = [&](const char* key, std::optional<std::int32_t> id) {
    if (id) json[key] = std::string(*tokenizer.token(*id));
  };
  add("bos_token", tokenizer.beginOfText());
  add("eos_token", tokenizer.endOfText());
  json["model_max_length"] = spec.maxPositions;
  json["clean_up_tokenization_spaces"] = false;
  return json.dump(2) + "\n";
}

class Exporter {
 public:
  Exporter(FileSystem& files, const SavedModel& source, const ExportOptions& options, Path temporary)
      : m_files(files),
        m_source(source),
        m_options(options),
        m_folder(std::move(temporary)),
        m_type(typeOf(options.type)),
        m_spec(source.spec()) {}

  Bytes tensorBytes() const { return parameterCount(m_spec) * bytesPerElement(m_type.stored); }

  /// Fills the temporary folder.
  Status write(ExportedModel& exported) {
    MILLRACE_CHECK(m_files.remove(m_folder));
    MILLRACE_CHECK(m_files.createDirectories(m_folder));
    MILLRACE_CHECK(writeTensors(exported));
    const std::vector<CheckpointFile>& companions = m_source.companions();
    const bool described = std::any_of(companions.begin(), companions.end(),
                                       [](const auto& file) { return file.name == "tokenizer_config.json"; });
    MILLRACE_CHECK(writeTokenizer(described, exported));
    for (const CheckpointFile& file : companions) MILLRACE_CHECK(writeText(file.name, file.text, exported));
    MILLRACE_CHECK(writeText("config.json", configFromModelSpec(m_spec, m_type.configName).dump(2) + "\n", exported));
    return m_files.syncDirectory(m_folder);
  }

 private:
  Status writeTensors(ExportedModel& exported) {
    ModelWriteOptions options;
    options.type = m_type.stored;
    options.maxShardBytes = m_options.maxShardBytes;
    Bytes done = 0;
    const Bytes total = tensorBytes();
    MILLRACE_TRY(
        const std::vector<WrittenFile> written,
        writeModelTensors(m_files, m_folder, m_spec, options,
                          [&](const ParameterSpec& parameter, std::int64_t first, std::span<float> values) -> Status {
                            MILLRACE_CHECK(m_source.weights().read(parameter, first, values));
                            if (m_options.type == ExportType::Bf16) // as in training; nothing is left to round
                              for (float& value : values) value = toFloat(BFloat16{splitWeight(value).hi});
                            if (m_options.type == ExportType::Fp16) MILLRACE_CHECK(checkRange(parameter, values));
                            done += static_cast<Bytes>(values.size()) * bytesPerElement(m_type.stored);
                            if (m_options.progress && !m_options.progress(done, total))
                              return failure(ErrorKind::Interrupted, "the export was given up");
                            return {};
                          }));
    for (const WrittenFile& file : written) {
      exported.files.push_back(file.name);
      exported.bytes += file.bytes;
    }
    return {};
  }

  /// described: its tokenizer_config.json is among the companions.
  Status writeTokenizer(bool described, ExportedModel& exported) {
    if (!m_source.tokenizerText()) return {};
    MILLRACE_TRY(const Tokenizer tokenizer, m_source.tokenizer());
    nameControlTokens(m_spec, tokenizer);
    MILLRACE_CHECK(writeText("tokenizer.json", *m_source.tokenizerText(), exported));
    if (described) return {};
    return writeText("tokenizer_config.json", tokenizerConfig(tokenizer, m_spec), exported);
  }

  Status writeText(const std::string& name, std::string_view text, ExportedModel& exported) {
    MILLRACE_CHECK(writeTextFile(m_files, m_folder / name, text));
    exported.files.push_back(name);
    exported.bytes += static_cast<Bytes>(text.size());
    return {};
  }

  FileSystem& m_files;
  const SavedModel& m_source;
  const ExportOptions& m_options;
  const Path m_folder;
  const TypeOfExport m_type;
  ModelSpec m_spec;
};

Status checkTarget(FileSystem& files, const Path& folder) {
  if (!files.exists(folder)) return {};
  if (!files.isDirectory(folder)) return badInput(fmt::format("{}: is a file; name a folder", folder.string()));
  MILLRACE_TRY(const std::vector<std::string> names, files.list(folder));
  if (names.empty()) return {};
  return badInput(
      fmt::format("{}: is not empty ({} is there); name a new folder, or remove it", folder.string(), names.front()));
}

Path temporaryFolder(const Path& target) {
  Path temporary = target;
  temporary += fmt::format("{}{}", temporaryMark, ::getpid());
  return temporary;
}

/// Removes what exports to this target left that were killed.
Status removeAbandoned(FileSystem& files, const Path& target) {
  const std::string prefix = target.filename().string() + std::string(temporaryMark);
  MILLRACE_TRY(const std::vector<std::string> names, files.list(target.parent_path()));
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, problem] = std::from_chars(name.data() + prefix.size(), end, process);
    const bool gone = problem == std::errc() && stop == end && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
    if (gone) MILLRACE_CHECK(files.remove(target.parent_path() / name));
  }
  return {};
}

Result<ExportedModel> exportTo(FileSystem& files, const ModelChoice& choice, const Path& target,
                               const ExportOptions& options) {
  MILLRACE_CHECK(checkTarget(files, target));
  MILLRACE_TRY(const SavedModel source, SavedModel::open(files, choice));
  const Path temporary = temporaryFolder(target);
  Exporter exporter(files, source, options, temporary);
  MILLRACE_CHECK(files.createDirectories(target.parent_path()));
  MILLRACE_CHECK(removeAbandoned(files, target));
  MILLRACE_TRY(const Bytes free, files.freeSpace(target.parent_path()));
  const Bytes needed = exporter.tensorBytes() + MiB;
  if (free < needed)
    return failure(ErrorKind::OutOfSpace,
                   fmt::format("{}: the model takes {} and {} is free; free {} more, or export bf16 or fp16",
                               target.string(), formatBytes(needed), formatBytes(free), formatBytes(needed - free)));

  ExportedModel exported;
  exported.folder = target;
  exported.parameters = parameterCount(source.spec());
  exported.step = source.step();
  exported.warnings = source.warnings();
  Status outcome = exporter.write(exported);
  if (outcome) outcome = files.rename(temporary, target);
  if (!outcome) {
    (void)files.remove(temporary); // best effort: the name says that it is temporary
    return tl::unexpected<Error>(std::move(outcome.error()));
  }
  MILLRACE_CHECK(files.syncDirectory(target.parent_path()));
  return exported;
}

} // namespace

Result<ExportedModel> exportModel(FileSystem& files, const ModelChoice& choice, const Path& folder,
                                  const ExportOptions& options) {
  if (folder.empty()) return badInput("name the folder to export to");
  if (options.maxShardBytes < MiB)
    return badInput(
        fmt::format("the size of shards is {}, expected at least 1 MiB (--shard-size)", formatBytes(options.maxShardBytes)));
  Path target = std::filesystem::absolute(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path(); // "folder/"
  return exportTo(files, choice, target, options);
}

} // namespace millrace

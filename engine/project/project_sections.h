// Readers of the parts of a project file, one for each top-level key. Each checks its own values; what concerns several
// parts is checked by projectFromJson().
#pragma once

#include "base/json_reader.h"
#include "engine/project.h"
#include "engine/project_fields.h"
#include "project/choices.h"

#include <string>

namespace millrace {

/// Where a part of the file is, for messages and for relative paths.
struct SectionContext {
  std::string source;
  Path folder; ///< absolute

  Path resolve(const std::string& text) const { return (folder / Path(text)).lexically_normal(); }
};

/// A JsonReader that takes ranges from the table of fields, where each key must be.
class SectionReader : public JsonReader {
 public:
  SectionReader(const Json& section, const SectionContext& context, const std::string& prefix)
      : JsonReader(section, context.source, prefix) {}

  std::int64_t integer(const std::string& key, std::int64_t fallback) {
    const ProjectField& field = *findProjectField(path(key));
    return JsonReader::integer(key, fallback, field.least, field.most);
  }
  double number(const std::string& key, double fallback) {
    const ProjectField& field = *findProjectField(path(key));
    return JsonReader::number(key, fallback, field.leastNumber, field.mostNumber);
  }
};

Result<ModelSource> readModelSection(const Json& section, const SectionContext& context);
Result<TokenizerSource> readTokenizerSection(const Json& section, const SectionContext& context);
Result<DataConfig> readDataSection(const Json& section, const SectionContext& context);
Result<TrainingConfig> readTrainingSection(const Json& section, const SectionContext& context);
Result<MemoryConfig> readMemorySection(const Json& section, const SectionContext& context);
Result<CheckpointConfig> readCheckpointSection(const Json& section, const SectionContext& context);
Result<EvaluationConfig> readEvaluationSection(const Json& section, const SectionContext& context);
Result<SamplesConfig> readSamplesSection(const Json& section, const SectionContext& context);

/// The value whose word the key holds; the fallback when it is missing or wrong (the reader keeps the problem).
template <class T, std::size_t N>
T readChoice(JsonReader& reader, const std::string& key, T fallback, const ChoiceWord<T> (&words)[N]) {
  const std::span<const ChoiceWord<T>> table(words);
  const std::string word = reader.choice(key, wordOf(table, fallback), wordsOf(table));
  for (const auto& entry : table)
    if (word == entry.word) return entry.value;
  return fallback;
}

} // namespace millrace

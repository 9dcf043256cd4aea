// What a project file may say, key by key, for forms and help: the table that the readers of engine/project take their
// ranges from. Pure functions of constants; any thread.
#pragma once

#include "base/units.h"
#include "engine/project.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

enum class FieldKind {
  Integer,
  Number,
  Size, ///< a number of bytes, or a text such as "24GiB"
  Boolean,
  Text,
  Choice,
  File,
  Folder,
  Texts,   ///< a list
  Folders, ///< a list
  Files,   ///< a path or a list of paths
  Sources, ///< a path, an object with the keys of data.sources, or a list of these
};

struct ProjectField {
  std::string key; ///< dotted: "training.micro_batch"
  FieldKind kind = FieldKind::Text;
  std::string unit;               ///< "steps"; empty: none, or the kind says it
  std::int64_t least = 0;         ///< of Integer and Size
  std::int64_t most = 0;          ///< of Integer and Size
  double leastNumber = 0;         ///< of Number
  double mostNumber = 0;          ///< of Number
  std::string fallback;           ///< the default as JSON; empty: the key is required, or the program chooses
  std::vector<std::string> words; ///< of Choice: all there are; of Text: suggestions
  std::string meaning;            ///< one sentence for people
  bool advanced = false;          ///< most projects leave it alone

  /// The part of the key before its first dot: "training"; empty for keys of the project as a whole.
  std::string section() const;
};

/// Every key, in the order of the README.
const std::vector<ProjectField>& projectFields();
/// nullptr when there is no such key.
const ProjectField* findProjectField(std::string_view key);

/// The word that files use for a format, and the format of such a word.
std::string wordOf(DataFormat format);
std::optional<DataFormat> dataFormatOf(std::string_view word);

/// Keys that must not be given beside this one: training.steps excludes training.tokens, epochs and hours.
std::vector<std::string> excludedKeys(std::string_view key);

} // namespace millrace

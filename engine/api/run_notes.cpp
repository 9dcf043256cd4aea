#include "base/atomic_file.h"
#include "engine/run_details.h"
#include "run/run_directory.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {
constexpr Bytes largestNotes = MiB;
} // namespace

Result<RunNotes> readRunNotes(FileSystem& files, const Path& run) {
  RunNotes notes;
  const Path file = RunDirectory(run).notes();
  if (!files.exists(file)) return notes;
  MILLRACE_TRY(const Json json, readJsonFile(files, file, largestNotes));
  JsonReader reader(json, file.string());
  notes.text = reader.text("notes", "");
  const Json& tags = reader.value("tags");
  if (!tags.is_array() && !tags.is_null()) reader.problem("tags", "is no list of words");
  for (const Json& tag : tags) {
    if (!tag.is_string()) {
      reader.problem("tags", "is no list of words");
      break;
    }
    if (const auto& word = tag.get_ref<const std::string&>();
        std::find(notes.tags.begin(), notes.tags.end(), word) == notes.tags.end())
      notes.tags.push_back(word);
  }
  MILLRACE_CHECK(reader.status());
  return notes;
}

Status writeRunNotes(FileSystem& files, const Path& run, const RunNotes& notes) {
  const RunDirectory directory(run);
  MILLRACE_CHECK(requireRun(files, directory));
  const Json json = {{"tags", notes.tags}, {"notes", notes.text}};
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (static_cast<Bytes>(text.size()) > largestNotes)
    return badInput(fmt::format("{}: the notes take {}, and may take {}", directory.notes().string(),
                                formatBytes(static_cast<Bytes>(text.size())), formatBytes(largestNotes)));
  return writeTextFile(files, directory.notes(), text);
}

} // namespace millrace

#include "run/metrics_file.h"

#include "base/atomic_file.h"
#include "base/json_reader.h"
#include "run/json_lines_writer.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr std::string_view attemptStem = "metrics.attempt-";
constexpr std::string_view attemptSuffix = ".jsonl";

std::optional<std::int64_t> stepOfLine(const std::string& text) {
  const auto json = parseJson(text, "");
  if (!json || !json->is_object()) return std::nullopt;
  const auto step = json->find("step");
  if (step == json->end() || !step->is_number_integer()) return std::nullopt;
  return step->get<std::int64_t>();
}

Path folderOf(const Path& path) {
  return path.has_parent_path() ? path.parent_path() : Path(".");
}

/// Whether [begin, end) of the file is what the other file holds.
Result<bool> sameBytes(const File& file, Bytes begin, Bytes end, FileSystem& files, const Path& other) {
  if (!files.exists(other)) return false;
  MILLRACE_TRY(const auto second, files.open(other, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, second->size());
  if (size != end - begin) return false;
  std::vector<std::byte> a, b;
  for (Bytes done = 0; done < size; done += MiB) {
    a.resize(static_cast<std::size_t>(std::min(MiB, size - done)));
    b.resize(a.size());
    MILLRACE_CHECK(file.read(a, begin + done));
    MILLRACE_CHECK(second->read(b, done));
    if (a != b) return false;
  }
  return true;
}

Status copyTail(FileSystem& files, const File& file, Bytes begin, Bytes end, const Path& target) {
  MILLRACE_TRY(AtomicFile copy, AtomicFile::create(files, target));
  std::vector<std::byte> piece;
  for (Bytes position = begin; position < end; position += MiB) {
    piece.resize(static_cast<std::size_t>(std::min(MiB, end - position)));
    MILLRACE_CHECK(file.read(piece, position));
    MILLRACE_CHECK(copy.write(piece));
  }
  return copy.commit();
}

} // namespace

Result<Bytes> offsetAfterStep(FileSystem& files, const Path& metrics, std::int64_t step) {
  if (!files.exists(metrics)) return 0;
  MILLRACE_TRY(const auto file, files.open(metrics, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, file->size());
  // Lines that begin before `low` (itself the begin of a line) have steps up to `step`; those from `high` on do not.
  Bytes low = 0, high = size;
  while (low < high) {
    const Bytes middle = low + (high - low) / 2;
    // From one byte before the middle, so that a line that begins exactly there is found.
    JsonLinesReader lines(files, metrics, middle == low ? low : middle - 1);
    if (middle != low) MILLRACE_CHECK(lines.next());
    std::optional<JsonLine> line;
    std::optional<std::int64_t> found;
    while (!found) {
      MILLRACE_TRY(line, lines.next());
      if (!line || line->begin >= high) break;
      found = stepOfLine(line->text);
    }
    if (found && *found <= step)
      low = line->end;
    else
      high = middle;
  }
  return low;
}

Result<std::optional<StepMetrics>> lastMetrics(FileSystem& files, const Path& metrics) {
  std::optional<StepMetrics> last;
  if (!files.exists(metrics)) return last;
  MILLRACE_TRY(const auto file, files.open(metrics, OpenMode::Read));
  MILLRACE_CHECK(visitLinesBackward(*file, [&](const JsonLine& line) {
    auto parsed = stepMetricsFromJson(line.text, metrics.string());
    if (parsed) last = std::move(*parsed);
    return !last;
  }));
  return last;
}

Path metricsAttemptPath(const Path& metrics, std::int64_t attempt) {
  return folderOf(metrics) / fmt::format("{}{}{}", attemptStem, attempt, attemptSuffix);
}

Result<std::vector<std::int64_t>> metricsAttempts(FileSystem& files, const Path& metrics) {
  MILLRACE_TRY(const std::vector<std::string> names, files.list(folderOf(metrics)));
  std::vector<std::int64_t> attempts;
  for (const std::string& name : names) {
    if (!name.starts_with(attemptStem) || !name.ends_with(attemptSuffix)) continue;
    std::int64_t number = 0;
    const char* begin = name.data() + attemptStem.size();
    const char* end = name.data() + name.size() - attemptSuffix.size();
    if (begin < end && std::from_chars(begin, end, number) == std::from_chars_result{end, std::errc()})
      attempts.push_back(number);
  }
  std::sort(attempts.begin(), attempts.end());
  return attempts;
}

Result<MetricsCut> cutMetrics(FileSystem& files, const Path& metrics, std::int64_t step) {
  MetricsCut cut;
  if (!files.exists(metrics)) return cut;
  MILLRACE_TRY(const auto file, files.open(metrics, OpenMode::ReadWrite));
  MILLRACE_TRY(const RepairedEnd repaired, repairLastLine(*file, metrics));
  MILLRACE_TRY(const Bytes begin, offsetAfterStep(files, metrics, step));
  const Bytes end = repaired.after;
  if (begin >= end) return cut;
  MILLRACE_TRY(const std::vector<std::int64_t> attempts, metricsAttempts(files, metrics));
  const std::int64_t last = attempts.empty() ? 0 : attempts.back();
  cut.kept = metricsAttemptPath(metrics, last);
  cut.bytes = end - begin;
  // A resume that was killed between copying and cutting has the copy already.
  MILLRACE_TRY(const bool copied, sameBytes(*file, begin, end, files, cut.kept));
  if (!copied) {
    cut.kept = metricsAttemptPath(metrics, last + 1);
    MILLRACE_CHECK(copyTail(files, *file, begin, end, cut.kept));
  }
  MILLRACE_CHECK(file->truncate(begin));
  MILLRACE_CHECK(file->sync());
  return cut;
}

Result<MetricsReader> MetricsReader::open(FileSystem& files, const Path& metrics, std::int64_t afterStep) {
  MILLRACE_TRY(const Bytes offset, offsetAfterStep(files, metrics, afterStep));
  return MetricsReader(JsonLinesReader(files, metrics, offset));
}

Result<std::optional<StepMetrics>> MetricsReader::next() {
  for (;;) {
    MILLRACE_TRY(const std::optional<JsonLine> line, m_lines.next());
    if (!line) return std::nullopt;
    auto metrics = stepMetricsFromJson(line->text, m_lines.path().string());
    if (metrics) return std::optional<StepMetrics>(std::move(*metrics));
    ++m_damaged;
  }
}

} // namespace millrace

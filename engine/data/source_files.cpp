#include "data/source_files.h"

#include "data/foreign_files.h"
#include "data/source_stream.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <optional>
#include <set>

namespace millrace {

namespace {

constexpr int deepestFolder = 32; // links may form circles
constexpr std::size_t mostFiles = 1'000'000;

bool isPattern(std::string_view part) {
  return part.find_first_of("*?[") != std::string_view::npos;
}

std::string lowerExtension(const Path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return extension;
}

/// Nothing when the name does not tell. Compressed files are called what they are without .zst.
std::optional<RecordLayout> layoutOf(const Path& path) {
  const std::string extension = lowerExtension(isZstdName(path) ? path.stem() : path);
  if (extension == ".jsonl" || extension == ".ndjson") return RecordLayout::Lines;
  if (extension == ".json") return RecordLayout::List;
  if (extension == ".txt" || extension == ".text" || extension == ".md") return RecordLayout::Text;
  return std::nullopt;
}

/// What a file is read as when its format was asked for.
RecordLayout layoutFor(DataFormat format, const Path& path) {
  if (format == DataFormat::Text) return RecordLayout::Text;
  const auto named = layoutOf(path);
  return named && *named != RecordLayout::Text ? *named : RecordLayout::Lines;
}

class Finder {
 public:
  Finder(FileSystem& files, const SourcePattern& source, Log& log, std::vector<SourceFile>& found)
      : m_files(files), m_source(source), m_log(log), m_found(found) {}

  /// Expands parts[at...] below `base`.
  Status expand(const Path& base, const std::vector<std::string>& parts, std::size_t at, int depth) {
    if (depth > deepestFolder) return {};
    if (!m_expanded.emplace(base.native(), at).second) return {}; // several ** come to the same place in many ways
    if (at == parts.size()) return m_files.isDirectory(base) ? folder(base, depth) : offer(base);
    const std::string& part = parts[at];
    if (!isPattern(part)) {
      const Path next = base / part;
      return m_files.exists(next) ? expand(next, parts, at + 1, depth + 1) : Status{};
    }
    if (!m_files.isDirectory(base.empty() ? Path(".") : base)) return {};
    MILLRACE_TRY(const auto names, m_files.list(base.empty() ? Path(".") : base));
    if (part == "**") MILLRACE_CHECK(expand(base, parts, at + 1, depth));
    for (const std::string& name : names) {
      if (name.starts_with('.') && !part.starts_with('.')) continue;
      const Path next = base / name;
      if (part == "**") {
        if (m_files.isDirectory(next)) MILLRACE_CHECK(expand(next, parts, at, depth + 1));
      } else if (::fnmatch(part.c_str(), name.c_str(), 0) == 0) {
        if (at + 1 < parts.size() || !m_files.isDirectory(next)) MILLRACE_CHECK(expand(next, parts, at + 1, depth + 1));
      }
    }
    return {};
  }

  /// Every file below the folder.
  Status folder(const Path& path, int depth) {
    if (depth > deepestFolder) return {};
    MILLRACE_TRY(const auto names, m_files.list(path));
    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      const Path next = path / name;
      MILLRACE_CHECK(m_files.isDirectory(next) ? folder(next, depth + 1) : offer(next));
    }
    return {};
  }

  Status take(const Path& path, RecordLayout layout) {
    if (m_found.size() >= mostFiles)
      return badInput(fmt::format("{}: gives more than {} files", m_source.path, mostFiles));
    m_found.push_back({path, layout, m_source.how});
    if (layout == RecordLayout::Text) m_found.back().how.format = DataFormat::Text;
    return {};
  }

 private:
  /// A file that nobody named: only if it is of a known kind, and of the kind asked for.
  Status offer(const Path& path) {
    const DataFormat asked = m_source.how.format;
    const bool bare = path.extension().empty(); // taken as what was asked for, if anything was
    const auto named = layoutOf(path);
    const bool other = named && asked != DataFormat::Auto && *named != layoutFor(asked, path);
    if ((!named && !(bare && asked != DataFormat::Auto)) || other) {
      m_log.warning("{}: passed over ({})", path.string(),
                    other ? "not of the format asked for" : adviceOnForeignName(path));
      return {};
    }
    return take(path, named ? *named : layoutFor(asked, path));
  }

  FileSystem& m_files;
  const SourcePattern& m_source;
  Log& m_log;
  std::vector<SourceFile>& m_found;
  std::set<std::pair<std::string, std::size_t>> m_expanded; ///< places, and from which part on they were expanded
};

} // namespace

Result<std::vector<SourceFile>> findSourceFiles(FileSystem& files, const std::vector<SourcePattern>& sources,
                                                Log& log) {
  if (sources.empty()) return badInput("no data: the list of sources is empty");
  std::vector<SourceFile> found;
  for (const SourcePattern& source : sources) {
    const std::size_t before = found.size();
    Finder finder(files, source, log, found);
    const Path path(source.path);
    if (source.path.empty()) return badInput("no data: a source has an empty path");
    if (source.how.separator.find('\n') != std::string::npos)
      return badInput(fmt::format("{}: the separator is one line, without a line feed", source.path));
    if (files.exists(path)) { // a name may hold characters that patterns use
      if (files.isDirectory(path)) {
        MILLRACE_CHECK(finder.folder(path, 0));
      } else {
        const auto layout = source.how.format == DataFormat::Auto ? layoutOf(path) : layoutFor(source.how.format, path);
        if (!layout) return badInput(fmt::format("{}: {}", source.path, adviceOnForeignName(path)));
        MILLRACE_CHECK(finder.take(path, *layout));
      }
    } else if (isPattern(source.path)) {
      std::vector<std::string> parts;
      for (const Path& part : path.relative_path()) parts.push_back(part.string());
      MILLRACE_CHECK(finder.expand(path.root_path(), parts, 0, 0));
    } else {
      return badInput(fmt::format("{}: there is no such file or folder", source.path));
    }
    if (found.size() == before)
      return badInput(fmt::format("{}: holds no file to read; expected .txt, .jsonl or .json files, or these with .zst",
                                  source.path));
  }
  return found;
}

std::string fingerprintOf(const SourceFile& source) {
  const SourceFormat& how = source.how;
  const auto field = [](const std::string& text) { return fmt::format(" {}:{}", text.size(), text); };
  std::string result = fmt::format("{}", static_cast<int>(how.format));
  if (how.format == DataFormat::Text) return result + field(how.separator);
  if (how.format == DataFormat::Jsonl) result += field(how.textField);
  for (const std::string& set : how.sets) result += field(set);
  return result;
}

Result<Bytes> bytesOf(FileSystem& files, const std::vector<SourceFile>& sources) {
  Bytes total = 0;
  for (const SourceFile& source : sources) {
    MILLRACE_TRY(const auto file, files.open(source.path, OpenMode::Read));
    MILLRACE_TRY(const Bytes size, file->size());
    total += size;
  }
  return total;
}

Error noDocuments(std::span<const SourceFile> files, const CachedCounts& counts,
                  const std::vector<std::string>& otherSets) {
  const ConversationCounts& chats = counts.conversations;
  if (chats.nothingLearnt > 0)
    return {ErrorKind::BadInput,
            fmt::format("nothing to learn: no token of the data is a target; {} conversations have no turn that is "
                        "learnt from, or none within the context; see data.chat.learn and data.chat.over_long",
                        chats.nothingLearnt)};
  if (chats.dropped > 0)
    return {ErrorKind::BadInput,
            fmt::format("nothing to learn: all of the {} conversations are longer than the context and dropped; raise "
                        "training.context, or set data.chat.over_long to truncate or split",
                        chats.dropped)};
  if (counts.otherSets > 0)
    return {ErrorKind::BadInput,
            fmt::format("no data: {} rows are all of other sets than data.sources.sets asks for; {}", counts.otherSets,
                        otherSets == std::vector<std::string>{""}
                            ? "no row names its set (meta.pile_set_name)"
                            : fmt::format("the sets found are: {}", fmt::join(otherSets, ", ")))};
  const std::string names =
      files.empty()
          ? "no file"
          : files.front().path.string() +
                (files.size() > 1 ? fmt::format(" and {} more files", formatCount(std::ssize(files) - 1)) : "");
  return {ErrorKind::BadInput, fmt::format("no data: there is no document in {} ({} empty, {} unusable rows)", names,
                                           formatCount(counts.emptyDocuments), formatCount(counts.badRows))};
}

} // namespace millrace

#include "data/source_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>

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

/// Auto when the name does not tell.
DataFormat formatOf(const Path& path) {
  const std::string extension = lowerExtension(path);
  if (extension == ".jsonl" || extension == ".ndjson") return DataFormat::Jsonl;
  if (extension == ".txt" || extension == ".text" || extension == ".md") return DataFormat::Text;
  return DataFormat::Auto;
}

std::string adviceFor(const Path& path) {
  const std::string extension = lowerExtension(path);
  if (extension == ".zst" || extension == ".gz" || extension == ".xz" || extension == ".zip")
    return "compressed files are not read, unpack it first";
  if (extension == ".parquet")
    return "Parquet is not read; convert it: python3 -c \"import pandas; pandas.read_parquet('in.parquet').to_json("
           "'out.jsonl', orient='records', lines=True)\"";
  if (extension == ".json") return "a JSON document is not read; expected .jsonl with one object a line";
  if (extension == ".csv" || extension == ".tsv") return "tables are not read; convert it to .jsonl";
  return "its name does not tell its format; set format to txt or jsonl";
}

class Finder {
 public:
  Finder(FileSystem& files, const SourcePattern& source, Log& log, std::vector<SourceFile>& found)
      : m_files(files), m_source(source), m_log(log), m_found(found) {}

  /// Expands parts[at...] below `base`.
  Status expand(const Path& base, const std::vector<std::string>& parts, std::size_t at, int depth) {
    if (depth > deepestFolder) return {};
    if (at == parts.size()) return m_files.isDirectory(base) ? folder(base, depth) : offer(base);
    const std::string& part = parts[at];
    if (!isPattern(part)) {
      const Path next = base / part;
      return m_files.exists(next) ? expand(next, parts, at + 1, depth + 1) : Status{};
    }
    if (!m_files.isDirectory(base.empty() ? Path(".") : base)) return {};
    MILLRACE_TRY(const auto names, m_files.list(base.empty() ? Path(".") : base));
    if (part == "**") MILLRACE_CHECK(expand(base, parts, at + 1, depth + 1));
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

  Status take(const Path& path, DataFormat format) {
    if (m_found.size() >= mostFiles)
      return badInput(fmt::format("{}: gives more than {} files", m_source.path, mostFiles));
    m_found.push_back({path, format, m_source.textField, m_source.separator});
    return {};
  }

 private:
  /// A file that nobody named: only if it is of a known kind, and of the kind asked for.
  Status offer(const Path& path) {
    const DataFormat named = formatOf(path);
    const bool bare = path.extension().empty(); // taken as what was asked for, if anything was
    const DataFormat format = named == DataFormat::Auto && bare ? m_source.format : named;
    if (format == DataFormat::Auto || (m_source.format != DataFormat::Auto && format != m_source.format)) {
      m_log.warning("{}: passed over ({})", path.string(),
                    named == DataFormat::Auto ? adviceFor(path) : "not of the format asked for");
      return {};
    }
    return take(path, format);
  }

  FileSystem& m_files;
  const SourcePattern& m_source;
  Log& m_log;
  std::vector<SourceFile>& m_found;
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
    if (source.separator.find('\n') != std::string::npos)
      return badInput(fmt::format("{}: the separator is one line, without a line feed", source.path));
    if (files.exists(path)) { // a name may hold characters that patterns use
      if (files.isDirectory(path)) {
        MILLRACE_CHECK(finder.folder(path, 0));
      } else {
        const DataFormat format = source.format == DataFormat::Auto ? formatOf(path) : source.format;
        if (format == DataFormat::Auto) return badInput(fmt::format("{}: {}", source.path, adviceFor(path)));
        MILLRACE_CHECK(finder.take(path, format));
      }
    } else if (isPattern(source.path)) {
      std::vector<std::string> parts;
      for (const Path& part : path.relative_path()) parts.push_back(part.string());
      MILLRACE_CHECK(finder.expand(path.root_path(), parts, 0, 0));
    } else {
      return badInput(fmt::format("{}: there is no such file or folder", source.path));
    }
    if (found.size() == before)
      return badInput(fmt::format("{}: holds no file to read; expected .txt or .jsonl files", source.path));
  }
  return found;
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

Error noDocuments(std::size_t files, std::int64_t emptyDocuments, std::int64_t badRows) {
  return {ErrorKind::BadInput, fmt::format("no data: {} files hold no document ({} empty, {} unusable rows)", files,
                                           emptyDocuments, badRows)};
}

} // namespace millrace

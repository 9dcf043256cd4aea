#include "data/foreign_files.h"

#include <fmt/format.h>

namespace millrace {

namespace {

using namespace std::string_view_literals;

enum class Kind { Gzip, Xz, Bzip2, Zip, Parquet, Arrow, Feather, Csv, Tsv, Zstd, Utf16, Utf32, Pdf };

/// For a POSIX shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

/// "python3 -c ..." with two arguments: the file, and the .jsonl to write.
std::string python(const std::string& code, const Path& path) {
  return fmt::format("python3 -c \"import sys; {}\" {} {}", code, quoted(path.string()),
                     quoted(Path(path).replace_extension(".jsonl").string()));
}

std::string pandas(const std::string& reading, const Path& path) {
  return python(fmt::format("import pandas; pandas.{}.to_json(sys.argv[2], orient='records', lines=True, "
                            "force_ascii=False)",
                            reading),
                path);
}

/// What reads such a compressed file, piped into zstd, under the name without the archive's ending.
std::string recompressed(const std::string& command, const Path& path) {
  return fmt::format("{} {} | zstd -o {}", command, quoted(path.string()),
                     quoted(Path(path).replace_extension().string() + ".zst"));
}

std::string adviceOn(Kind kind, const Path& path) {
  const auto convert = [](const char* what, const std::string& command) {
    return fmt::format("{} is not read; convert it: {}", what, command);
  };
  switch (kind) {
  case Kind::Gzip:
    return convert("gzip", recompressed("gzip -dc", path));
  case Kind::Xz:
    return convert("xz", recompressed("xz -dc", path));
  case Kind::Bzip2:
    return convert("bzip2", recompressed("bzip2 -dc", path));
  case Kind::Zip:
    return fmt::format("archives are not read; unpack it: unzip {}", quoted(path.string()));
  case Kind::Parquet:
    return convert("Parquet", pandas("read_parquet(sys.argv[1])", path));
  case Kind::Arrow:
    return convert("Arrow",
                   python("import datasets; datasets.Dataset.from_file(sys.argv[1]).to_json(sys.argv[2])", path));
  case Kind::Feather:
    return convert("Feather", pandas("read_feather(sys.argv[1])", path));
  case Kind::Csv:
    return convert("a table", pandas("read_csv(sys.argv[1])", path));
  case Kind::Tsv:
    return convert("a table", pandas("read_csv(sys.argv[1], sep='\\t')", path));
  case Kind::Zstd:
    return fmt::format("it is compressed with zstd, which its name must say: mv {} {}", quoted(path.string()),
                       quoted(path.string() + ".zst"));
  case Kind::Utf16:
  case Kind::Utf32:
    return convert(kind == Kind::Utf16 ? "UTF-16" : "UTF-32",
                   fmt::format("iconv -f {} -t UTF-8 {} > {}", kind == Kind::Utf16 ? "UTF-16" : "UTF-32",
                               quoted(path.string()),
                               quoted((path.parent_path() / ("utf8-" + path.filename().string())).string())));
  case Kind::Pdf:
    return convert("PDF", fmt::format("pdftotext {}", quoted(path.string())));
  }
  return {};
}

struct Ending {
  std::string_view text;
  Kind kind;
};

constexpr Ending endings[] = {{".gz", Kind::Gzip},         {".xz", Kind::Xz},           {".bz2", Kind::Bzip2},
                              {".zip", Kind::Zip},         {".parquet", Kind::Parquet}, {".arrow", Kind::Arrow},
                              {".feather", Kind::Feather}, {".csv", Kind::Csv},         {".tsv", Kind::Tsv},
                              {".pdf", Kind::Pdf}};

// Longer ones before those that they begin with.
constexpr Ending beginnings[] = {{"\xFF\xFE\0\0"sv, Kind::Utf32},
                                 {"\0\0\xFE\xFF"sv, Kind::Utf32},
                                 {"\xFF\xFE"sv, Kind::Utf16},
                                 {"\xFE\xFF"sv, Kind::Utf16},
                                 {"PAR1"sv, Kind::Parquet},
                                 {"ARROW1"sv, Kind::Feather},
                                 {"\x1F\x8B\x08"sv, Kind::Gzip},
                                 {"\xFD"
                                  "7zXZ\0"sv,
                                  Kind::Xz},
                                 {"PK\x03\x04"sv, Kind::Zip},
                                 {"\x28\xB5\x2F\xFD"sv, Kind::Zstd},
                                 {"%PDF-"sv, Kind::Pdf}};

} // namespace

std::string adviceOnForeignName(const Path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  for (const auto& known : endings)
    if (ending == known.text) return adviceOn(known.kind, path);
  return "its name does not tell its format; set format, to txt for plain text";
}

Status refuseForeignContents(const Path& path, std::string_view beginning, bool plainText) {
  const auto refuse = [&](Kind kind) { return badInput(fmt::format("{}: {}", path.string(), adviceOn(kind, path))); };
  for (const auto& known : beginnings)
    if (beginning.starts_with(known.text)) return refuse(known.kind);
  if (beginning.starts_with("BZh") && beginning.substr(4).starts_with("1AY&SY")) return refuse(Kind::Bzip2);
  if (const auto nul = beginning.find('\0'); plainText && nul != std::string_view::npos)
    return badInput(fmt::format("{}: byte {} is NUL, as in no text; it is a binary file, or in an encoding other than "
                                "UTF-8 (if that is UTF-16: iconv -f UTF-16LE -t UTF-8)",
                                path.string(), nul));
  return {};
}

} // namespace millrace

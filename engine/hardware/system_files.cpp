#include "hardware/system_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace millrace {

namespace {
constexpr std::size_t textLimit = 16u << 20;
constexpr std::string_view blanks = " \t\r\n\v\f";
} // namespace

Path SystemFiles::real(std::string_view path) const {
  return m_root / Path(path).relative_path();
}

std::optional<std::string> SystemFiles::text(std::string_view path) const {
  std::ifstream stream(real(path), std::ios::binary);
  if (!stream) return std::nullopt;
  std::string text;
  char piece[4096];
  while (text.size() < textLimit) {
    stream.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(stream.gcount()));
    if (!stream) break;
  }
  if (stream.bad()) return std::nullopt;
  const std::size_t last = text.find_last_not_of(blanks);
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

std::optional<std::int64_t> SystemFiles::number(std::string_view path) const {
  const auto content = text(path);
  return content ? parseInteger(trimmed(*content)) : std::nullopt;
}

std::optional<std::string> SystemFiles::linkName(std::string_view path) const {
  std::error_code code;
  const Path target = std::filesystem::read_symlink(real(path), code);
  if (code) return std::nullopt;
  return target.filename().string();
}

std::optional<std::string> SystemFiles::resolve(std::string_view path) const {
  std::error_code code;
  const Path target = std::filesystem::canonical(real(path), code);
  if (code) return std::nullopt;
  const Path root = std::filesystem::canonical(m_root, code);
  if (code) return std::nullopt;
  const Path relative = target.lexically_relative(root);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return "/" + relative.string();
}

bool SystemFiles::exists(std::string_view path) const {
  std::error_code code;
  return std::filesystem::exists(real(path), code);
}

std::vector<std::string> SystemFiles::list(std::string_view path) const {
  std::error_code code;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(real(path), code), end; !code && entry != end; entry.increment(code))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> splitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> splitLines(std::string_view text) {
  return splitAt(text, '\n');
}

std::vector<std::string_view> splitWords(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blanks, end);
  }
  return words;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::int64_t> parseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> wordsAfter(std::string_view text, std::string_view key) {
  for (const std::string_view line : splitLines(text)) {
    if (line.substr(0, key.size()) != key) continue;
    std::string_view rest = line.substr(key.size());
    if (!rest.empty() && rest.front() == ':')
      rest.remove_prefix(1);
    else if (!rest.empty() && blanks.find(rest.front()) == std::string_view::npos)
      continue; // a longer key
    return splitWords(rest);
  }
  return {};
}

} // namespace millrace

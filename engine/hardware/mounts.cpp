#include "hardware/mounts.h"

namespace millrace {

namespace {

/// Blanks and backslashes in names are written as octal escapes.
std::string unescaped(std::string_view text) {
  std::string plain;
  const auto octal = [&](std::size_t k) { return k < text.size() && text[k] >= '0' && text[k] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

} // namespace

std::vector<Mount> readMounts(const SystemFiles& files) {
  std::vector<Mount> mounts;
  const std::string text = files.text("/proc/self/mountinfo").value_or("");
  for (const std::string_view line : splitLines(text)) {
    const std::size_t dash = line.find(" - "); // optional fields of any number end there
    if (dash == std::string_view::npos) continue;
    const auto fields = splitWords(line.substr(0, dash));
    const auto tail = splitWords(line.substr(dash + 3));
    if (fields.size() < 5 || tail.size() < 3) continue;
    mounts.push_back({std::string(fields[2]), unescaped(fields[3]), unescaped(fields[4]), std::string(tail[0]),
                      unescaped(tail[1]), std::string(tail[2])});
  }
  return mounts;
}

} // namespace millrace

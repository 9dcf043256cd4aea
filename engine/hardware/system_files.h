// The kernel's own files (/proc, /sys) under a root that tests may fake. They are read as streams, since the kernel
// reports a size of 0 for them; whatever is missing or unreadable is simply absent.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Read-only and stateless; any thread.
class SystemFiles {
 public:
  explicit SystemFiles(Path root = "/") : m_root(std::move(root)) {}

  /// The text of an absolute path, without trailing white space. At most 16 MiB.
  std::optional<std::string> text(std::string_view path) const;
  /// A whole number alone in a file; nothing for "max" or anything else.
  std::optional<std::int64_t> number(std::string_view path) const;
  /// Last component of what a symbolic link points to.
  std::optional<std::string> linkName(std::string_view path) const;
  /// The path, under the root's own prefix left out, with symbolic links followed.
  std::optional<std::string> resolve(std::string_view path) const;
  bool exists(std::string_view path) const;
  /// Names of entries, sorted; none when the folder is missing.
  std::vector<std::string> list(std::string_view path) const;

  /// Where the path lies on the real file system.
  Path real(std::string_view path) const;

 private:
  Path m_root;
};

/// Text helpers for such files. Views point into the argument.
std::vector<std::string_view> splitLines(std::string_view text);
std::vector<std::string_view> splitWords(std::string_view text);
std::vector<std::string_view> splitAt(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
/// The whole of the text as a decimal number of at most 63 bits.
std::optional<std::int64_t> parseInteger(std::string_view text);
/// The value behind "key" or "key:" at the start of a line: words of "MemTotal:  123 kB" are {"123", "kB"}.
std::vector<std::string_view> wordsAfter(std::string_view text, std::string_view key);

} // namespace millrace

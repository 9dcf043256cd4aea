// StopStrings: a text that comes in pieces goes through until one of several strings is complete in it. One thread.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class StopStrings {
 public:
  /// BadInput for an empty string, one that begins inside a character, more than 64 of them, or more than 1024 bytes.
  static Result<StopStrings> create(std::vector<std::string> strings);

  /// What is certain after a further piece: no string has been found in it, and none can begin in it. Once one is
  /// found, what precedes its first byte; of several the one that begins first. Pieces that hold whole characters give
  /// whole characters.
  std::string push(std::string_view piece);
  bool found() const { return m_found; }
  /// What has been kept back, when no more comes.
  std::string finish();

 private:
  explicit StopStrings(std::vector<std::string> strings) : m_strings(std::move(strings)) {}

  std::vector<std::string> m_strings;
  std::string m_held; ///< the beginning of a string, perhaps
  bool m_found = false;
};

} // namespace millrace

// Lines, or everything, from standard input, in bounded memory.
#pragma once

#include "engine/project_file.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::cli {

class Input {
 public:
  /// beforeWaiting: called before a read that would have to wait, so that whoever feeds this program line by line gets
  /// the answers to what it has sent.
  Input(int descriptor, std::function<void()> beforeWaiting);

  /// The next line without its end (LF or CR LF), the last one with or without; nothing at the end of input. Valid
  /// until the next call. BadInput for lines above the limit.
  Result<std::optional<std::string_view>> nextLine(Bytes limit);
  std::int64_t lineNumber() const { return m_line; }

  /// All that is left; BadInput above the limit.
  Result<std::string> rest(Bytes limit);

 private:
  /// Appends what has come, waiting for something; false at the end of input.
  Result<bool> fill();

  const int m_descriptor;
  const std::function<void()> m_beforeWaiting;
  std::string m_buffer;
  std::size_t m_begin = 0; ///< of what is not given out yet
  bool m_ended = false;
  std::int64_t m_line = 0;
};

} // namespace millrace::cli

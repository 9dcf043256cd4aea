#include "input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace millrace::cli {

namespace {
constexpr std::size_t pieceBytes = 256 * 1024;
}

Input::Input(int descriptor, std::function<void()> beforeWaiting)
    : m_descriptor(descriptor), m_beforeWaiting(std::move(beforeWaiting)) {}

Result<bool> Input::fill() {
  if (m_ended) return false;
  pollfd polled = {m_descriptor, POLLIN, 0};
  if (m_beforeWaiting && ::poll(&polled, 1, 0) == 0) m_beforeWaiting();
  m_buffer.erase(0, std::exchange(m_begin, 0));
  const std::size_t before = m_buffer.size();
  m_buffer.resize(before + pieceBytes);
  ssize_t got = 0;
  while ((got = ::read(m_descriptor, m_buffer.data() + before, pieceBytes)) < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      (void)::poll(&polled, 1, -1);
    else if (errno != EINTR)
      break;
  }
  const int code = errno;
  m_buffer.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return badInput(fmt::format("cannot read standard input: {}", std::strerror(code)));
  m_ended = got == 0;
  return !m_ended;
}

Result<std::optional<std::string_view>> Input::nextLine(Bytes limit) {
  std::size_t searched = 0; // bytes of the line that hold no line feed
  while (true) {
    const std::size_t end = m_buffer.find('\n', m_begin + searched);
    if (end != std::string::npos) {
      std::string_view line(m_buffer.data() + m_begin, end - m_begin);
      m_begin = end + 1;
      ++m_line;
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line;
    }
    searched = m_buffer.size() - m_begin;
    if (static_cast<Bytes>(searched) > limit)
      return badInput(fmt::format("line {}: is longer than {}", m_line + 1, formatBytes(limit)));
    MILLRACE_TRY(const bool more, fill());
    if (more) continue;
    if (searched == 0) return std::nullopt;
    const std::string_view line(m_buffer.data() + m_begin, searched);
    m_begin = m_buffer.size();
    ++m_line;
    return line;
  }
}

Result<std::string> Input::rest(Bytes limit) {
  while (true) {
    if (static_cast<Bytes>(m_buffer.size() - m_begin) > limit)
      return badInput(fmt::format("standard input is longer than {}, which is the most for one text; use --jsonl with "
                                  "a text a line",
                                  formatBytes(limit)));
    MILLRACE_TRY(const bool more, fill());
    if (!more) return m_buffer.substr(std::exchange(m_begin, m_buffer.size()));
  }
}

} // namespace millrace::cli

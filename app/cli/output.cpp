#include "output.h"

#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace millrace::cli {

namespace {
constexpr std::size_t bufferBytes = 64 * 1024;

bool rewritesLines(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && kind && std::string_view(kind) != "dumb";
}
} // namespace

Output::Output(int descriptor) : m_descriptor(descriptor), m_terminal(rewritesLines(descriptor)) {}

Output::~Output() {
  flush();
}

void Output::write(std::string_view text) {
  if (closed()) return;
  m_buffer += text;
  if (m_buffer.size() >= bufferBytes) flush();
}

void Output::flush() {
  std::size_t sent = 0;
  while (!closed() && sent < m_buffer.size()) {
    const ssize_t put = ::write(m_descriptor, m_buffer.data() + sent, m_buffer.size() - sent);
    if (put >= 0) {
      sent += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) { // somebody made the descriptor non-blocking
      pollfd polled = {m_descriptor, POLLOUT, 0};
      (void)::poll(&polled, 1, -1);
    } else if (errno != EINTR) {
      m_problem = errno;
    }
  }
  m_buffer.clear();
}

int Output::error() const {
  const bool readerGone = m_problem == EPIPE || (m_problem == EIO && ::isatty(m_descriptor) != 0);
  return readerGone ? 0 : m_problem;
}

int Output::width() const {
  winsize size = {};
  if (::ioctl(m_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

} // namespace millrace::cli

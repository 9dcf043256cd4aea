#include "run/control_client.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace millrace {

short ControlClient::events() const {
  short events = 0;
  if (!m_inputEnded && !m_closing) events |= POLLIN;
  if (waitingBytes() > 0) events |= POLLOUT;
  return events;
}

bool ControlClient::receive() {
  char buffer[4096];
  const ssize_t got = ::recv(m_socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (got == 0) m_inputEnded = true; // it may have closed its sending half only and still await the reply
  m_input.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::optional<std::string> ControlClient::nextLine() {
  if (m_closing) return std::nullopt;
  const std::size_t end = m_input.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = m_input.substr(0, end);
  m_input.erase(0, end + 1);
  m_heard = Clock::now();
  return line;
}

void ControlClient::send(std::string_view line) {
  m_output.append(line);
  m_output.push_back('\n');
}

bool ControlClient::flush() {
  while (waitingBytes() > 0) {
    const ssize_t put = ::send(m_socket.get(), m_output.data() + m_sent, waitingBytes(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    m_sent += static_cast<std::size_t>(put);
  }
  m_output.clear();
  m_sent = 0;
  return true;
}

bool ControlClient::done() const {
  if (waitingBytes() > 0) return false;
  return m_closing || (m_inputEnded && !watching);
}

} // namespace millrace

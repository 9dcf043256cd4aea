// One client of the control socket, as the server keeps it: bytes in, whole lines out, bytes back. The server's thread
// only.
#pragma once

#include "run/descriptor.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

class ControlClient {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ControlClient(Descriptor socket) : m_socket(std::move(socket)), m_heard(Clock::now()) {}

  int socket() const { return m_socket.get(); }
  /// What to poll for.
  short events() const;

  /// Takes in what has arrived, once; false when the connection broke.
  bool receive();
  /// The next whole request.
  std::optional<std::string> nextLine();
  std::size_t unfinishedBytes() const { return m_input.size(); }

  void send(std::string_view line);
  /// Gives the socket what it takes; false when the connection broke.
  bool flush();
  std::size_t waitingBytes() const { return m_output.size() - m_sent; }

  /// No more requests are read; done() once what waits has been sent.
  void closeAfterSending() { m_closing = true; }
  bool done() const;

  bool watching = false;
  Clock::time_point heard() const { return m_heard; }

 private:
  Descriptor m_socket;
  std::string m_input;
  std::string m_output;
  std::size_t m_sent = 0;
  bool m_inputEnded = false;
  bool m_closing = false;
  Clock::time_point m_heard;
};

} // namespace millrace

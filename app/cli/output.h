// A buffered stream to a file descriptor whose reader may go away at any time: what is written after that is dropped,
// and nobody is killed. One thread.
#pragma once

#include <string>
#include <string_view>

namespace millrace::cli {

class Output {
 public:
  explicit Output(int descriptor);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Kept until 64 KiB have come together or flush() is called.
  void write(std::string_view text);
  void flush();

  /// Nothing can be written any more; everything is dropped from now on.
  bool closed() const { return m_problem != 0; }
  /// errno of the write that failed; 0: none, or only that the reader is gone (a closed pipe, a terminal hung up).
  int error() const;

  bool isTerminal() const { return m_terminal; }
  /// Of the terminal, in characters; asked anew each time.
  int width() const;

 private:
  const int m_descriptor;
  const bool m_terminal;
  std::string m_buffer;
  int m_problem = 0;
};

} // namespace millrace::cli

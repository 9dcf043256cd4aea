#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

namespace millrace::cli {

namespace {

constexpr std::chrono::milliseconds terminalInterval(100);
constexpr std::chrono::seconds pipeInterval(5);

/// At most `width` characters of UTF-8.
std::string_view cut(std::string_view text, int width) {
  int characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (begins && ++characters > width) return text.substr(0, i);
  }
  return text;
}

} // namespace

Console::Console() : m_out(STDOUT_FILENO), m_error(STDERR_FILENO), m_shown(Clock::now()) {}

void Console::result(std::string_view line) {
  endProgress();
  m_out.write(fmt::format("{}\n", line));
  m_out.flush();
}

void Console::line(std::string_view text) {
  endProgress();
  people().write(fmt::format("{}\n", printable(text)));
  people().flush();
}

bool Console::progressDue() const {
  if (people().closed() || (m_reserved && !people().isTerminal())) return false;
  const auto interval = people().isTerminal() ? Clock::duration(terminalInterval) : Clock::duration(pipeInterval);
  return Clock::now() - m_shown >= interval;
}

void Console::progress(std::string_view text, bool important) {
  if (m_reserved && !people().isTerminal()) return;
  if (!important && !progressDue()) return;
  m_shown = Clock::now();
  if (people().isTerminal()) {
    m_progress = text;
    people().write(fmt::format("\r{}\x1b[K", cut(text, people().width() - 1)));
  } else {
    people().write(fmt::format("{}\n", text));
  }
  people().flush();
}

void Console::endProgress(bool keep) {
  if (m_progress.empty()) return;
  m_progress.clear();
  people().write(keep ? "\n" : "\r\x1b[K");
}

void Console::warning(std::string_view message) {
  endProgress();
  m_out.flush();
  m_error.write(fmt::format("warning: {}\n", printable(message)));
  m_error.flush();
}

void Console::error(std::string_view message) {
  endProgress();
  m_out.flush();
  people().flush();
  m_error.write(fmt::format("millrace: {}\n", printable(message)));
  m_error.flush();
}

void Console::flush() {
  m_out.flush();
  m_error.flush();
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    const bool highControl = byte == 0xC2 && next >= 0x80 && next < 0xA0; // U+0080 to U+009F
    // What turns the direction of the text around it: U+202A to U+202E, U+2066 to U+2069.
    const auto last = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0;
    const bool direction = byte == 0xE2 && ((next == 0x80 && last >= 0xAA && last <= 0xAE) ||
                                            (next == 0x81 && last >= 0xA6 && last <= 0xA9));
    if (control || highControl || direction)
      result += "\xEF\xBF\xBD"; // U+FFFD
    else
      result += text[i];
    if (highControl) ++i;
    if (direction) i += 2;
  }
  return result;
}

} // namespace millrace::cli

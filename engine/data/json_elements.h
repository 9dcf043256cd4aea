// Cuts a JSON file that is one list into the texts of its elements, as it comes: brackets and strings are followed,
// nothing else is looked at, and no more than one element is kept. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

class JsonElements {
 public:
  enum class Event {
    NeedsMore, ///< all bytes are used up
    Element,   ///< one is complete
    End,       ///< the list is closed
  };

  /// limit: bytes of an element that are kept; the rest is counted and dropped.
  explicit JsonElements(std::size_t limit) : m_limit(limit) {}

  /// Goes on through `bytes`, whose first ones ever are the list's bracket or white space in front of it, and takes
  /// what it has seen from their front. Not to be called behind End.
  Event next(std::string_view& bytes);

  /// Of the element that is complete, or that the file ends in: its text without white space around it.
  const std::string& text() const { return m_text; }
  bool tooLong() const { return m_tooLong; }
  std::int64_t line() const { return m_elementLine; } ///< where it begins, from 1
  /// Whether the bytes so far end inside an element, or in front of the list's end.
  bool inElement() const { return m_state == State::Inside; }
  std::int64_t lines() const { return m_line; } ///< the line that has been reached

 private:
  enum class State { BeforeList, Between, Inside, Complete };
  void begin();
  void append(std::string_view part);

  std::size_t m_limit;
  State m_state = State::BeforeList;
  std::int64_t m_depth = 0; ///< of brackets inside the element
  bool m_inString = false;
  bool m_escaped = false;
  bool m_tooLong = false;
  std::int64_t m_line = 1;
  std::int64_t m_elementLine = 1;
  std::string m_text;
};

} // namespace millrace

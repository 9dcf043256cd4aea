#include "text/jinja/word_wrap.h"

#include "text/jinja/text_classes.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

#include <algorithm>

namespace millrace::jinja {

namespace {

bool isWrapSpace(std::string_view character) {
  return character.size() == 1 && std::string_view("\t\n\v\f\r ").find(character[0]) != std::string_view::npos;
}

bool isWordLetter(std::string_view character) {
  return character == "_" || isAlpha(character);
}
bool isWordCharacterOf(std::string_view character) {
  return character == "_" || isAlnum(character);
}

std::int64_t widthOf(std::string_view text) {
  return codePoints(text);
}

/// Words and the runs of white space between them; words that are joined by hyphens or dashes are parts of their own.
std::vector<std::string> chunksOf(std::string_view text, bool onHyphens) {
  const std::vector<std::string_view> letters = characters(text);
  std::vector<std::string> chunks;
  std::string chunk;
  const auto close = [&] {
    if (!chunk.empty()) chunks.push_back(std::move(chunk));
    chunk.clear();
  };
  for (std::size_t i = 0; i < letters.size();) {
    if (isWrapSpace(letters[i])) {
      close();
      while (i < letters.size() && isWrapSpace(letters[i])) chunk += letters[i++];
      close();
      continue;
    }
    if (!onHyphens || letters[i] != "-") {
      chunk += letters[i++];
      continue;
    }
    std::size_t run = i;
    while (run < letters.size() && letters[run] == "-") ++run;
    const bool wordBehind = run < letters.size() && isWordCharacterOf(letters[run]);
    const std::string_view before = i > 0 ? letters[i - 1] : std::string_view();
    if (run - i >= 2 && wordBehind && !before.empty() && !isWrapSpace(before)) { // a dash between words
      close();
      while (i < run) chunk += letters[i++];
      close();
      continue;
    }
    // "foo-bar" may be broken behind the hyphen when two letters stand before it and one or two behind it.
    const bool lettersBefore = i >= 2 && isWordLetter(letters[i - 1]) && isWordLetter(letters[i - 2]);
    const bool lettersBehind = run - i == 1 && run < letters.size() && isWordLetter(letters[run]) &&
                               run + 1 < letters.size() && (isWordLetter(letters[run + 1]) || letters[run + 1] == "-");
    chunk += letters[i++];
    if (lettersBefore && lettersBehind) close();
  }
  close();
  return chunks;
}

bool isBlank(const std::string& chunk) {
  return stripLeft(chunk).empty();
}

} // namespace

std::vector<std::string> wrappedLines(std::string_view paragraph, const WrapOptions& options) {
  std::vector<std::string> chunks = chunksOf(paragraph, options.breakOnHyphens);
  std::reverse(chunks.begin(), chunks.end()); // the next one is at the back
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    std::vector<std::string> line;
    std::int64_t width = 0;
    if (isBlank(chunks.back()) && !lines.empty()) chunks.pop_back();
    while (!chunks.empty() && width + widthOf(chunks.back()) <= options.width) {
      width += widthOf(chunks.back());
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && widthOf(chunks.back()) > options.width) {
      const std::int64_t room = std::max<std::int64_t>(options.width - width, 1);
      if (options.breakLongWords) {
        std::int64_t cut = room;
        if (options.breakOnHyphens && widthOf(chunks.back()) > room) {
          const std::string_view head = std::string_view(chunks.back()).substr(0, byteOfCodePoint(chunks.back(), room));
          const std::size_t hyphen = head.rfind('-');
          if (hyphen != std::string_view::npos && hyphen > 0 &&
              head.substr(0, hyphen).find_first_not_of('-') != std::string_view::npos)
            cut = codePoints(head.substr(0, hyphen)) + 1;
        }
        const std::size_t bytes = byteOfCodePoint(chunks.back(), cut);
        line.push_back(chunks.back().substr(0, bytes));
        chunks.back().erase(0, bytes);
        if (chunks.back().empty()) chunks.pop_back();
      } else if (line.empty()) {
        line.push_back(std::move(chunks.back()));
        chunks.pop_back();
      }
    }
    if (!line.empty() && isBlank(line.back())) line.pop_back();
    if (line.empty()) continue;
    std::string text;
    for (const std::string& part : line) text += part;
    lines.push_back(std::move(text));
  }
  return lines;
}

} // namespace millrace::jinja

#include "text/assistant_ranges.h"

#include "text/chat_template_files.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace millrace {

namespace {

using jinja::ByteRange;

/// Of text that is rendered to be compared, for one conversation: each turn takes some beginnings of it, so that the
/// work grows with the square of the turns.
constexpr std::size_t mostCompared = std::size_t{256} << 20;

std::size_t commonPrefix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t same = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size), b.begin()).first - a.begin());
  // Not inside a character.
  while (same > 0 && same < a.size() && (static_cast<unsigned char>(a[same]) & 0xC0) == 0x80) --same;
  return same;
}

/// The length of the text's part up to where its last mark or word is complete: what two texts share may end in the
/// middle of one.
std::size_t wholeMarks(std::string_view text) {
  const std::size_t end = text.find_last_of("> \t\r\n]:");
  return end == std::string_view::npos ? 0 : end + 1;
}

std::size_t commonSuffix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.rbegin(), a.rbegin() + static_cast<std::ptrdiff_t>(size), b.rbegin()).first - a.rbegin());
}

bool isAssistant(const Json& message) {
  return message.is_object() && message.contains("role") && message["role"].is_string() &&
         message["role"].get_ref<const std::string&>() == "assistant";
}

std::string contentOf(const Json& message) {
  if (!message.contains("content") || !message["content"].is_string()) return {};
  return message["content"].get<std::string>();
}

/// Looks for the turns of one conversation.
class RangeFinder {
 public:
  RangeFinder(const jinja::Template& parsed, const Json& variables, const std::string& text, const std::string& where)
      : m_template(parsed), m_variables(variables), m_messages(variables["messages"]), m_text(text), m_where(where) {}

  Result<std::vector<ByteRange>> run() {
    std::vector<ByteRange> ranges;
    for (std::size_t i = 0; i < m_messages.size(); ++i) {
      if (!isAssistant(m_messages[i])) continue;
      MILLRACE_TRY(const ByteRange range, rangeOf(i));
      ranges.push_back(range);
    }
    return joinedRanges(std::move(ranges), m_text.size());
  }

 private:
  /// The first `count` messages as text; nothing when the template refuses them.
  std::optional<std::string> renderFirst(std::size_t count, bool prompt) {
    m_variables["messages"] = Json(m_messages.begin(), m_messages.begin() + static_cast<std::ptrdiff_t>(count));
    m_variables["add_generation_prompt"] = prompt;
    return render();
  }
  /// All messages, one of them with other content.
  std::optional<std::string> renderWith(std::size_t index, const char* content) {
    m_variables["messages"] = m_messages;
    m_variables["messages"][index]["content"] = content;
    m_variables["add_generation_prompt"] = false;
    return render();
  }
  std::optional<std::string> render() {
    if (m_compared > mostCompared) {
      m_lastFault = fmt::format("the conversation is too long for that: {} messages", m_messages.size());
      return std::nullopt;
    }
    auto rendered = m_template.render(m_variables, {}, trainingDay());
    m_compared += rendered ? rendered->text.size() : m_text.size();
    if (rendered) return std::move(rendered->text);
    m_lastFault = describeTemplateFault(rendered.error(), m_where);
    return std::nullopt;
  }

  Result<ByteRange> rangeOf(std::size_t i) {
    const auto begin = beginOf(i);
    if (!begin) return impossible(i, "begins");
    const auto end = endOf(i, *begin);
    if (!end) return impossible(i, "ends");
    return ByteRange{*begin, *end};
  }

  tl::unexpected<Error> impossible(std::size_t i, const char* what) const {
    std::string message = fmt::format("{}: cannot tell where message {} (of an assistant) {} in the text, since the "
                                      "template renders the beginning of this "
                                      "conversation differently from the whole; put {{% generation %}} and {{% "
                                      "endgeneration %}} around what assistants say",
                                      m_where, i + 1, what);
    if (!m_lastFault.empty()) message += fmt::format(" (rendering a part of it gave: {})", m_lastFault);
    return badInput(std::move(message));
  }

  /// Behind the prompt that asks the assistant to speak.
  std::optional<std::size_t> beginOf(std::size_t i) {
    m_lastFault.clear();
    const auto prompted = renderFirst(i, true);
    if (prompted && m_text.starts_with(*prompted)) return prompted->size();
    const auto before = renderFirst(i, false);
    if (prompted && before && prompted->starts_with(*before) && m_text.starts_with(*before)) {
      // The prompt may hold more than the turn does, such as an empty thought; what both have is the prompt's.
      const std::string_view turn = std::string_view(m_text).substr(before->size());
      const std::size_t shared =
          wholeMarks(turn.substr(0, commonPrefix(turn, std::string_view(*prompted).substr(before->size()))));
      if (shared > 0) return before->size() + shared;
    }
    // The beginning alone cannot be rendered, or comes out differently: see what depends on the content.
    const auto one = renderWith(i, "x");
    const auto other = renderWith(i, "q");
    if (!one || !other || *one == *other) return std::nullopt;
    const std::size_t header = commonPrefix(*one, *other);
    if (commonPrefix(m_text, *one) < header) return std::nullopt;
    return header;
  }

  /// Behind the token that ends the turn.
  std::optional<std::size_t> endOf(std::size_t i, std::size_t begin) {
    m_lastFault.clear();
    const bool last = i + 1 == m_messages.size();
    const auto upTo = last ? std::optional(m_text) : renderFirst(i + 1, false);
    if (!upTo) return std::nullopt;
    const std::string content = contentOf(m_messages[i]);
    const std::string_view said = lastPart(content);
    // The turn as the conversation's last one: its content, and what closes it.
    const std::size_t shared = commonPrefix(m_text, *upTo);
    const std::size_t place = said.empty() ? std::string::npos : upTo->rfind(said);
    if (place != std::string::npos && place >= begin && shared >= place + said.size())
      return closedEnd(place + said.size(), std::string_view(*upTo).substr(place + said.size()));
    if (shared == upTo->size() && shared >= begin) {
      // Nothing to go by, such as calls of tools alone: all that this message adds.
      const std::string_view turn = jinja::stripRight(std::string_view(*upTo).substr(begin));
      return turn.empty() ? shared : begin + turn.size();
    }
    return endByComparing(i, begin);
  }

  /// contentEnd: where the content ends; tail: what stands behind it where the turn is the last one. White space behind
  /// the closing token is the template's; where there is no such token it ends the turn itself. What closes a turn only
  /// where it is the last one closes nothing here: it may stand behind what closes every turn.
  std::size_t closedEnd(std::size_t contentEnd, std::string_view tail) const {
    const std::string_view token = jinja::stripRight(tail);
    const std::string_view closing = token.empty() ? tail : token;
    const std::string_view behind = std::string_view(m_text).substr(contentEnd);
    if (behind.starts_with(closing)) return contentEnd + closing.size();
    const std::string_view shared = behind.substr(0, commonPrefix(behind, closing));
    return contentEnd + jinja::stripRight(shared.substr(0, wholeMarks(shared))).size();
  }

  /// The same by what stays behind the turn when the assistant says something else instead.
  std::optional<std::size_t> endByComparing(std::size_t i, std::size_t begin) {
    const auto one = renderSaying(i, m_messages.size(), "x");
    const auto other = renderSaying(i, m_messages.size(), "q");
    if (!one || !other || *one == *other) return std::nullopt;
    const std::size_t behind = commonSuffix(*one, *other);
    if (commonSuffix(m_text, *one) < behind || m_text.size() - behind < begin) return std::nullopt;
    const auto lastOne = renderSaying(i, i + 1, "x");
    const auto lastOther = renderSaying(i, i + 1, "q");
    if (!lastOne || !lastOther) return std::nullopt;
    const std::size_t tail = *lastOne == *lastOther ? 0 : commonSuffix(*lastOne, *lastOther);
    return closedEnd(m_text.size() - behind, std::string_view(*lastOne).substr(lastOne->size() - tail));
  }

  /// The first `count` messages, one of them as if the assistant had said this and nothing else.
  std::optional<std::string> renderSaying(std::size_t index, std::size_t count, const char* content) {
    Json messages = Json(m_messages.begin(), m_messages.begin() + static_cast<std::ptrdiff_t>(count));
    messages[index] = {{"role", "assistant"}, {"content", content}};
    m_variables["messages"] = std::move(messages);
    m_variables["add_generation_prompt"] = false;
    return render();
  }

  /// The end of the content as it can be expected in the text: templates strip white space, and cut thoughts off.
  static std::string_view lastPart(const std::string& content) {
    std::string_view part = jinja::stripLeft(jinja::stripRight(content));
    if (const std::size_t thought = part.rfind("</think>"); thought != std::string_view::npos)
      if (const std::string_view answer = jinja::stripLeft(part.substr(thought + 8)); !answer.empty()) part = answer;
    return part;
  }

  const jinja::Template& m_template;
  Json m_variables;
  const Json& m_messages;
  const std::string& m_text;
  const std::string& m_where;
  std::string m_lastFault;
  std::size_t m_compared = 0; ///< bytes
};

} // namespace

std::tm trainingDay() {
  std::tm day = {};
  day.tm_year = 2024 - 1900;
  day.tm_mon = 6;
  day.tm_mday = 26;
  day.tm_hour = 12;
  day.tm_wday = 5;
  day.tm_yday = 207;
  return day;
}

std::vector<ByteRange> joinedRanges(std::vector<ByteRange> ranges, std::size_t size) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> joined;
  for (ByteRange range : ranges) {
    range.end = std::min(range.end, size);
    if (range.begin >= range.end) continue;
    if (!joined.empty() && range.begin < joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  }
  return joined;
}

Result<std::vector<ByteRange>> findAssistantRanges(const jinja::Template& parsed, const Json& variables,
                                                   const std::string& text, const std::string& where) {
  return RangeFinder(parsed, variables, text, where).run();
}

} // namespace millrace

// Where places of a text fall among its tokens. Added tokens stand where they were found, and the text between two of
// them is measured by the bytes that its tokens stand for.
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

std::size_t widthOf(std::span<const std::int32_t> ids, std::span<const std::int32_t> widths) {
  std::size_t sum = 0;
  for (const std::int32_t id : ids) sum += static_cast<std::size_t>(widths[static_cast<std::size_t>(id)]);
  return sum;
}

} // namespace

const std::vector<std::int32_t>& Tokenizer::Impl::widths(const Tokenizer& tokenizer) const {
  std::call_once(m_widthsMade, [&] {
    m_widths.resize(tokens.size());
    for (std::size_t id = 0; id < m_widths.size(); ++id)
      m_widths[id] = tokenizer.tokenBytes(static_cast<std::int32_t>(id));
    for (const AddedToken& token : added)
      m_widths[static_cast<std::size_t>(token.id)] = static_cast<std::int32_t>(token.content.size());
  });
  return m_widths;
}

Status Tokenizer::Impl::cutSection(std::string_view text, bool atStart, std::span<const std::size_t> cuts,
                                   std::span<const std::int32_t> ids, std::span<const std::int32_t> widths,
                                   EncodeScratch& scratch, std::vector<std::size_t>& before) const {
  std::vector<std::int32_t> part;
  const auto measure = [&](std::string_view stretch, bool start) -> Result<std::size_t> {
    part.clear();
    MILLRACE_CHECK(encodeSection(stretch, start, scratch, part));
    return widthOf(part, widths);
  };
  // What the tokenizer adds in front of a section, such as a space, counts as bytes of its first token.
  std::vector<std::size_t> places(cuts.begin(), cuts.end());
  const std::size_t whole = widthOf(ids, widths);
  if (whole != text.size()) {
    MILLRACE_TRY(const std::size_t first, measure("a", atStart));
    const std::size_t inFront = first - std::min<std::size_t>(first, 1);
    if (whole == text.size() + inFront) {
      for (std::size_t& place : places) place += inFront;
    } else {
      // A normalizer changed characters: each stretch is measured by itself.
      MILLRACE_TRY(const std::size_t later, measure("a", false));
      const std::size_t inFrontLater = later - std::min<std::size_t>(later, 1);
      std::size_t from = 0, width = 0;
      for (std::size_t& place : places) {
        MILLRACE_TRY(const std::size_t stretch, measure(text.substr(from, place - from), atStart && from == 0));
        width += from == 0 ? stretch : stretch - std::min(stretch, inFrontLater);
        from = place;
        place = width;
      }
    }
  }
  std::size_t begin = 0, count = 0;
  for (const std::size_t place : places) {
    for (; count < ids.size() && begin < place; ++count)
      begin += static_cast<std::size_t>(widths[static_cast<std::size_t>(ids[count])]);
    before.push_back(count);
  }
  return {};
}

Status Tokenizer::encodeCut(std::string_view text, std::span<const std::size_t> cuts, std::vector<std::int32_t>& ids,
                            std::vector<std::size_t>& before) const {
  if (!isValidUtf8(text)) return badInput("the text is not valid UTF-8");
  const std::size_t start = ids.size();
  before.clear();
  if (cuts.empty()) return encode(text, false, ids);
  MILLRACE_CHECK(Impl::checkLength(text));
  auto scratch = m_impl->takeScratch();
  const auto run = [&]() -> Status {
    std::vector<TextSection> sections;
    m_impl->rawTokens.cut(text, sections);
    std::vector<std::size_t> inner;
    for (const TextSection& section : sections) {
      const std::size_t at = ids.size() - start;
      while (before.size() < cuts.size() && cuts[before.size()] <= section.begin) before.push_back(at);
      inner.clear();
      for (std::size_t i = before.size(); i < cuts.size() && cuts[i] < section.end; ++i)
        inner.push_back(cuts[i] - section.begin);
      if (section.id >= 0) {
        ids.push_back(section.id);
        before.insert(before.end(), inner.size(), at + 1);
        continue;
      }
      const std::string_view part = text.substr(section.begin, section.end - section.begin);
      MILLRACE_CHECK(m_impl->encodeSection(part, section.begin == 0, *scratch, ids));
      if (inner.empty()) continue;
      const std::size_t first = before.size();
      MILLRACE_CHECK(m_impl->cutSection(part, section.begin == 0, inner, std::span(ids).subspan(start + at),
                                        m_impl->widths(*this), *scratch, before));
      for (std::size_t i = first; i < before.size(); ++i) before[i] += at;
    }
    before.resize(cuts.size(), ids.size() - start);
    return {};
  };
  const Status outcome = run();
  m_impl->giveScratch(std::move(scratch));
  if (!outcome) ids.resize(start);
  return outcome;
}

} // namespace millrace

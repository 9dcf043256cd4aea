#include "data/row_judge.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {
constexpr std::int64_t rowsBeforeGivingUp = 100;
constexpr std::int64_t rowsInLog = 10;
constexpr std::size_t mostFieldsTold = 1000;
constexpr std::size_t setsNamed = 30;
} // namespace

std::string likelySetting(DataFormat format, const std::map<std::string, RowField>& fields) {
  const auto is = [&](const char* name, RowField::Kind kind) {
    const auto field = fields.find(name);
    return field != fields.end() && field->second.kind == kind;
  };
  for (const auto& [field, likely] : {std::pair{"messages", "messages"}, {"conversations", "sharegpt"}})
    if (is(field, RowField::Kind::List)) return fmt::format("; set format to {}, which '{}' looks like", likely, field);
  if (is("instruction", RowField::Kind::Text) && is("output", RowField::Kind::Text))
    return "; set format to alpaca, which 'instruction' and 'output' look like";
  if (fields.contains("chosen") && fields.contains("rejected"))
    return "; 'chosen' and 'rejected' look like preferences, which are not learnt from here: to learn what was chosen, "
           "make lines of {\"messages\": [...]} of 'chosen' alone";
  // A question with its answer: taking the longer of the two alone would be learning something else.
  using Pair = std::pair<const char*, const char*>;
  for (const auto& [asked, answered] : {Pair{"prompt", "completion"},
                                        {"prompt", "response"},
                                        {"instruction", "response"},
                                        {"question", "answer"},
                                        {"prompt", "chosen"},
                                        {"input", "output"}})
    if (fields.contains(asked) && fields.contains(answered))
      return fmt::format("; '{}' and '{}' look like what is asked and answered: make lines of {{\"messages\": "
                         "[{{\"role\": \"user\", \"content\": ...}}, {{\"role\": \"assistant\", \"content\": "
                         "...}}]}} of them",
                         asked, answered);
  const std::string* likely = nullptr;
  std::size_t longest = 0;
  for (const auto& [name, field] : fields)
    if (field.kind == RowField::Kind::Text && field.length > longest) {
      longest = field.length;
      likely = &name;
    }
  if (!likely) return {};
  return fmt::format("; set {}text_field to '{}', which holds the most text",
                     isConversation(format) ? "format to jsonl and " : "", *likely);
}

Status RowJudge::count(std::size_t file, std::int64_t line, const std::string& problem) {
  ++m_bad;
  if (m_bad <= std::min(rowsInLog, m_limit))
    m_log.warning("{}:{}: row skipped: {}", m_sources[file].path.string(), line, problem);
  if (m_bad > m_limit)
    return badInput(fmt::format("{}:{}: {}; that is unusable row {}, and the limit is {} (data.bad_rows)",
                                m_sources[file].path.string(), line, problem, formatCount(m_bad),
                                formatCount(m_limit)));
  return {};
}

Status RowJudge::noFieldError() const {
  std::vector<std::string> names;
  for (const auto& [name, field] : m_fields)
    if (names.size() < 30) names.push_back(name);
  return badInput(fmt::format("{}: none of the first {} rows has {}; the fields found are: {}{}",
                              m_sources[m_file].path.string(), m_rowsWithout, fieldsOf(m_sources[m_file].how),
                              names.empty() ? "(none)" : fmt::format("{}", fmt::join(names, ", ")),
                              likelySetting(m_sources[m_file].how.format, m_fields)));
}

Status RowJudge::judge(std::size_t file, std::int64_t line, const DecodedRecord& record) {
  if (file != m_file) {
    MILLRACE_CHECK(finish());
    m_file = file;
    m_fieldSeen = false;
  }
  switch (record.kind) {
  case DecodedRecord::Kind::Empty:
    return {};
  case DecodedRecord::Kind::OtherSet:
    ++m_ofOtherSets;
    if (m_otherSets.size() < setsNamed &&
        std::find(m_otherSets.begin(), m_otherSets.end(), record.set) == m_otherSets.end())
      m_otherSets.push_back(record.set);
    return {};
  case DecodedRecord::Kind::Bad:
    return count(file, line, record.problem);
  case DecodedRecord::Kind::Document:
    if (!m_fieldSeen) {
      m_fieldSeen = true;
      for (; m_rowsWithout > 0; --m_rowsWithout) MILLRACE_CHECK(count(file, m_firstLine, m_firstProblem));
      m_fields.clear();
    }
    return {};
  case DecodedRecord::Kind::NoField:
    break;
  }
  if (m_fieldSeen) return count(file, line, record.problem);
  if (m_rowsWithout++ == 0) {
    m_firstLine = line;
    m_firstProblem = record.problem;
  }
  for (const auto& [name, field] : record.fields)
    if (m_fields.size() < mostFieldsTold || m_fields.contains(name)) {
      RowField& known = m_fields[name];
      known = {field.kind, known.length + field.length};
    }
  if (m_rowsWithout < rowsBeforeGivingUp) return {};
  return noFieldError();
}

Status RowJudge::finish() {
  if (m_rowsWithout > 0) return noFieldError();
  return {};
}

} // namespace millrace

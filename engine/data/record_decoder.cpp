#include "data/record_decoder.h"

#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace millrace {

namespace {

constexpr std::int64_t rowsBeforeGivingUp = 100;
constexpr std::int64_t rowsInLog = 10;
constexpr int deepest = 128;
constexpr std::size_t mostFields = 1000;

/// Takes one field of the top object and the names of the others; no tree is built.
class FieldReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit FieldReader(const std::string& wanted) : m_wanted(wanted) {}

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool string(string_t& content) override {
    if (m_depth == 1 && m_here) {
      found = true;
      text = std::move(content);
    } else if (m_depth == 1 && fields.size() < mostFields) {
      fields[m_key] = content.size();
    }
    return m_depth > 0 || value("a string");
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter("an object", true); }
  bool start_array(std::size_t) override { return enter("a list", false); }
  bool key(string_t& name) override {
    if (m_depth != 1) return true;
    m_here = name == m_wanted;
    m_key = std::move(name);
    if (m_here && found) return fail(fmt::format("the field '{}' appears twice", m_wanted));
    if (!m_here && fields.size() < mostFields) fields.emplace(m_key, 0);
    return true;
  }
  bool end_object() override {
    --m_depth;
    return true;
  }
  bool end_array() override {
    --m_depth;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    std::string what = error.what();
    if (const auto bracket = what.find("] "); bracket != std::string::npos) what = what.substr(bracket + 2);
    return fail(fmt::format("not valid JSON at byte {} of the line: {}", position, what.substr(0, 200)));
  }

  bool found = false;
  std::string text;
  std::string problem;
  std::map<std::string, std::size_t> fields;

 private:
  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool value(const char* what) {
    if (m_depth == 0) return fail(fmt::format("the row is {}, expected an object", what));
    if (m_depth == 1 && m_here) return fail(fmt::format("the field '{}' is {}, expected a string", m_wanted, what));
    return true;
  }
  bool enter(const char* what, bool isObject) {
    if (!(isObject && m_depth == 0) && !value(what)) return false;
    if (++m_depth > deepest) return fail(fmt::format("nested deeper than {} levels", deepest));
    return true;
  }

  const std::string& m_wanted;
  std::string m_key;
  bool m_here = false;
  int m_depth = 0;
};

bool isBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

} // namespace

DecodedRecord decodeRecord(const SourceFile& source, RawRecord record) {
  DecodedRecord out;
  if (record.tooLong) {
    out.kind = DecodedRecord::Kind::Bad;
    out.problem = "the line is longer than the limit";
    return out;
  }
  if (!isValidUtf8(record.bytes)) {
    std::string repaired;
    out.repaired = appendRepairedUtf8(record.bytes, repaired);
    record.bytes = std::move(repaired);
  }
  if (source.format == DataFormat::Jsonl) {
    if (isBlank(record.bytes)) {
      out.kind = DecodedRecord::Kind::Empty;
      return out;
    }
    FieldReader reader(source.textField);
    const bool good = nlohmann::json::sax_parse(record.bytes.begin(), record.bytes.end(), &reader);
    if (!good || !reader.found) {
      out.kind = good ? DecodedRecord::Kind::NoField : DecodedRecord::Kind::Bad;
      out.problem = good ? fmt::format("there is no field '{}'", source.textField) : std::move(reader.problem);
      out.fields = std::move(reader.fields);
      return out;
    }
    out.text = std::move(reader.text);
  } else {
    out.text = std::move(record.bytes);
  }
  // Parts of a longer document are kept as they are.
  if (record.first && record.last && isBlank(out.text)) out.kind = DecodedRecord::Kind::Empty;
  return out;
}

Status RowJudge::count(std::size_t file, std::int64_t line, const std::string& problem) {
  ++m_bad;
  if (m_bad <= rowsInLog) m_log.warning("{}:{}: row skipped: {}", m_sources[file].path.string(), line, problem);
  if (m_bad > m_limit)
    return badInput(fmt::format("{}:{}: {}; that is unusable row {}, and the limit is {}",
                                m_sources[file].path.string(), line, problem, formatCount(m_bad),
                                formatCount(m_limit)));
  return {};
}

Status RowJudge::noFieldError() const {
  std::vector<std::string> names;
  const std::string* likely = nullptr;
  std::size_t longest = 0;
  for (const auto& [name, length] : m_fields) {
    if (names.size() < 30) names.push_back(name);
    if (length > longest) {
      longest = length;
      likely = &name;
    }
  }
  return badInput(fmt::format("{}: none of the first {} rows has the text field '{}'; the fields found are: {}{}",
                              m_sources[m_file].path.string(), m_rowsWithout, m_sources[m_file].textField,
                              names.empty() ? "(none)" : fmt::format("{}", fmt::join(names, ", ")),
                              likely == nullptr
                                  ? std::string()
                                  : fmt::format("; set the text field to '{}', which holds the most text", *likely)));
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
  case DecodedRecord::Kind::Bad:
    return count(file, line, record.problem);
  case DecodedRecord::Kind::Text:
    if (!m_fieldSeen) {
      m_fieldSeen = true;
      for (; m_rowsWithout > 0; --m_rowsWithout)
        MILLRACE_CHECK(count(file, m_firstLine, fmt::format("there is no field '{}'", m_sources[file].textField)));
      m_fields.clear();
    }
    return {};
  case DecodedRecord::Kind::NoField:
    break;
  }
  if (m_fieldSeen) return count(file, line, record.problem);
  if (m_rowsWithout++ == 0) m_firstLine = line;
  for (const auto& [name, length] : record.fields)
    if (m_fields.size() < mostFields || m_fields.contains(name)) m_fields[name] += length;
  if (m_rowsWithout < rowsBeforeGivingUp) return {};
  return noFieldError();
}

Status RowJudge::finish() {
  if (m_rowsWithout > 0) return noFieldError();
  return {};
}

} // namespace millrace

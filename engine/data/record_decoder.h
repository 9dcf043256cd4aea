// From a raw record to a document's text, and the account of rows that are not usable.
#pragma once

#include "base/log.h"
#include "data/record_reader.h"

#include <map>

namespace millrace {

struct DecodedRecord {
  enum class Kind {
    Text,
    Empty,   ///< a blank line, or a document of white space alone
    Bad,     ///< `problem` says why
    NoField, ///< an object without the text field; `fields` lists what it has
  };
  Kind kind = Kind::Text;
  std::string text; ///< valid UTF-8
  std::string problem;
  std::map<std::string, std::size_t> fields; ///< with the length of their text, 0 when they hold none
  std::int64_t repaired = 0;                 ///< invalid UTF-8 sequences that became U+FFFD
};

/// Pure; any thread.
DecodedRecord decodeRecord(const SourceFile& source, RawRecord record);

/// Counts unusable rows in the order of the files, tells the log about the first of them, and ends it when there are
/// too many or when a file has no row with the text field. One thread.
class RowJudge {
 public:
  RowJudge(const std::vector<SourceFile>& sources, std::int64_t limit, Log& log)
      : m_sources(sources), m_limit(limit), m_log(log) {}

  Status judge(std::size_t file, std::int64_t line, const DecodedRecord& record);
  /// Behind the last record.
  Status finish();
  std::int64_t bad() const { return m_bad; }

 private:
  Status count(std::size_t file, std::int64_t line, const std::string& problem);
  Status noFieldError() const;

  const std::vector<SourceFile>& m_sources;
  std::int64_t m_limit;
  Log& m_log;
  std::int64_t m_bad = 0;
  std::size_t m_file = 0;
  bool m_fieldSeen = false;       ///< in this file
  std::int64_t m_rowsWithout = 0; ///< so far, in this file, while no row has the field
  std::int64_t m_firstLine = 0;   ///< of them
  std::map<std::string, std::size_t> m_fields;
};

} // namespace millrace

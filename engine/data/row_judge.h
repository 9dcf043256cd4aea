// The account of rows that are not usable.
#pragma once

#include "base/log.h"
#include "data/record_decoder.h"

#include <map>
#include <string>
#include <vector>

namespace millrace {

/// What a source of such rows, which were read as of a format, is likely meant to be: a sentence that begins with "; ",
/// or nothing.
std::string likelySetting(DataFormat format, const std::map<std::string, RowField>& fields);

/// Counts unusable rows in the order of the files, tells the log about the first of them, and ends it when there are
/// too many or when a file has no row with the fields of its format. One thread.
class RowJudge {
 public:
  /// bad: rows that were unusable before the first of these files.
  RowJudge(const std::vector<SourceFile>& sources, std::int64_t limit, Log& log, std::int64_t bad = 0)
      : m_sources(sources), m_limit(limit), m_log(log), m_bad(bad) {}

  Status judge(std::size_t file, std::int64_t line, const DecodedRecord& record);
  /// One more, which was found out later.
  Status count(std::size_t file, std::int64_t line, const std::string& problem);
  /// Behind the last record.
  Status finish();
  std::int64_t bad() const { return m_bad; }
  /// Rows of sets that were not asked for, and the first names of such sets.
  std::int64_t ofOtherSets() const { return m_ofOtherSets; }
  const std::vector<std::string>& otherSets() const { return m_otherSets; }

 private:
  Status noFieldError() const;

  const std::vector<SourceFile>& m_sources;
  std::int64_t m_limit;
  Log& m_log;
  std::int64_t m_bad;
  std::int64_t m_ofOtherSets = 0;
  std::vector<std::string> m_otherSets;
  std::size_t m_file = 0;
  bool m_fieldSeen = false;       ///< in this file
  std::int64_t m_rowsWithout = 0; ///< so far, in this file, while no row has the field
  std::int64_t m_firstLine = 0;   ///< of them
  std::string m_firstProblem;
  std::map<std::string, RowField> m_fields;
};

} // namespace millrace

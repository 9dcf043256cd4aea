// From a raw record to a document's text, or to a conversation.
#pragma once

#include "data/conversation.h"
#include "data/record_reader.h"
#include "data/row_outline.h"

#include <map>
#include <optional>

namespace millrace {

struct DecodedRecord {
  enum class Kind {
    Document,
    Empty,    ///< a blank row, or a document of white space alone
    Bad,      ///< `problem` says why
    NoField,  ///< an object without the fields of its format, which `problem` names; `fields` lists what it has
    OtherSet, ///< of a set that is not asked for
  };
  Kind kind = Kind::Document;
  std::string text;                         ///< valid UTF-8; empty where there is a conversation
  std::optional<Conversation> conversation; ///< of a format that has them
  std::string set;                          ///< meta.pile_set_name of the row, if it has one
  std::string problem;
  std::map<std::string, RowField> fields;
  std::int64_t repaired = 0; ///< invalid UTF-8 sequences that became U+FFFD
};

/// "the field 'text'": what rows of the format must have.
std::string fieldsOf(const SourceFormat& how);

/// source.how.format is decided. Pure; any thread.
DecodedRecord decodeRecord(const SourceFile& source, RawRecord record);

} // namespace millrace

// One pass over a row of JSON, which a stranger wrote: whether it is sound, which fields it has, and the text of one of
// them. Builds no tree, so that memory is bounded by the row. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace millrace {

struct RowField {
  enum class Kind { Text, List, Object, Other };
  Kind kind = Kind::Other;
  std::size_t length = 0; ///< Text: bytes
};

struct RowOutline {
  std::string problem; ///< why the row cannot be used; empty: it is an object, nested no deeper than 128
  bool hasText = false;
  std::string text;                       ///< of the field that was asked for
  std::map<std::string, RowField> fields; ///< of the row itself; of many the first 1000
  std::string set;                        ///< meta.pile_set_name, if that is a text
  std::int64_t values = 0;                ///< of all kinds, at all depths
};

/// textField: which field's text is taken; that it is no text, or there twice, is a problem then. Empty: none.
RowOutline outlineRow(std::string_view row, const std::string& textField);

} // namespace millrace

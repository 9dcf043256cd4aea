#include "data/record_decoder.h"

#include "data/row_outline.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

// Trees take many times the bytes that they are made of.
constexpr std::size_t longestConversation = static_cast<std::size_t>(16 * MiB);
constexpr std::int64_t mostValues = 1 << 20;

bool isBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

DecodedRecord bad(std::string problem) {
  DecodedRecord out;
  out.kind = DecodedRecord::Kind::Bad;
  out.problem = std::move(problem);
  return out;
}

bool hasFieldsOf(DataFormat format, const std::map<std::string, RowField>& fields) {
  if (format == DataFormat::Alpaca) return fields.contains("instruction") && fields.contains("output");
  return fields.contains("conversations") || fields.contains("messages");
}

/// Of the fields of its format, those that a row does not have.
std::string lackedBy(const SourceFormat& how, const std::map<std::string, RowField>& fields) {
  if (how.format == DataFormat::Alpaca)
    for (const auto& [there, missing] : {std::pair{"instruction", "output"}, {"output", "instruction"}})
      if (fields.contains(there)) return fmt::format("the field '{}'", missing);
  return fieldsOf(how);
}

DecodedRecord decodeRow(const SourceFormat& how, std::string_view row) {
  const bool chat = isConversation(how.format);
  if (chat && row.size() > longestConversation)
    return bad(fmt::format("the conversation is longer than {}", formatBytes(static_cast<Bytes>(longestConversation))));
  RowOutline outline = outlineRow(row, chat ? std::string() : how.textField);
  if (!outline.problem.empty()) return bad(std::move(outline.problem));
  DecodedRecord out;
  out.set = std::move(outline.set);
  out.fields = std::move(outline.fields);
  if (!how.sets.empty() && std::find(how.sets.begin(), how.sets.end(), out.set) == how.sets.end()) {
    out.kind = DecodedRecord::Kind::OtherSet;
    return out;
  }
  if (chat ? !hasFieldsOf(how.format, out.fields) : !outline.hasText) {
    out.kind = DecodedRecord::Kind::NoField;
    out.problem = "it lacks " + lackedBy(how, out.fields);
    return out;
  }
  out.fields.clear();
  if (!chat) {
    out.text = std::move(outline.text);
    return out;
  }
  if (outline.values > mostValues)
    return bad(fmt::format("the row holds {} values, at most {} are taken", outline.values, mostValues));
  auto conversation = readConversation(how.format, Json::parse(row.begin(), row.end()));
  if (!conversation) return bad(std::move(conversation.error().message));
  out.conversation = std::move(*conversation);
  return out;
}

} // namespace

std::string fieldsOf(const SourceFormat& how) {
  switch (how.format) {
  case DataFormat::Alpaca:
    return "the fields 'instruction' and 'output'";
  case DataFormat::ShareGpt:
    return "the field 'conversations'";
  case DataFormat::Messages:
    return "the field 'messages'";
  default:
    return fmt::format("the field '{}'", how.textField);
  }
}

DecodedRecord decodeRecord(const SourceFile& source, RawRecord record) {
  if (!record.problem.empty()) return bad(std::move(record.problem));
  std::int64_t repaired = 0;
  if (!isValidUtf8(record.bytes)) {
    std::string text;
    repaired = appendRepairedUtf8(record.bytes, text);
    record.bytes = std::move(text);
  }
  DecodedRecord out;
  if (source.layout == RecordLayout::Text)
    out.text = std::move(record.bytes);
  else if (!isBlank(record.bytes))
    out = decodeRow(source.how, record.bytes);
  out.repaired = repaired;
  // Parts of a longer document are kept as they are.
  if (out.kind == DecodedRecord::Kind::Document && !out.conversation && record.first && record.last &&
      isBlank(out.text))
    out.kind = DecodedRecord::Kind::Empty;
  return out;
}

} // namespace millrace

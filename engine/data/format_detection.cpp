#include "data/format_detection.h"

#include "data/record_reader.h"
#include "data/row_outline.h"

#include <fmt/format.h>
#include <optional>

namespace millrace {

namespace {

constexpr int rowsLookedAt = 100;

std::optional<DetectedFormat> formatOf(const RowOutline& row, const std::string& textField, std::int64_t line) {
  const auto is = [&](const std::string& name, RowField::Kind kind) {
    const auto field = row.fields.find(name);
    return field != row.fields.end() && field->second.kind == kind;
  };
  const auto found = [&](DataFormat format, const std::string& what) {
    return DetectedFormat{format, fmt::format("the row at line {} has {}", line, what)};
  };
  const bool text = is(textField, RowField::Kind::Text);
  const auto asText = [&] { return found(DataFormat::Jsonl, fmt::format("a text '{}'", textField)); };
  // A field that somebody named is meant. The one that is called text by default is often the conversation once more,
  // written out.
  if (text && textField != SourceFormat().textField) return asText();
  if (is("messages", RowField::Kind::List)) return found(DataFormat::Messages, "a list 'messages'");
  if (is("conversations", RowField::Kind::List)) return found(DataFormat::ShareGpt, "a list 'conversations'");
  if (is("instruction", RowField::Kind::Text) && is("output", RowField::Kind::Text))
    return found(DataFormat::Alpaca, "the texts 'instruction' and 'output'");
  return text ? std::optional(asText()) : std::nullopt;
}

} // namespace

Result<DetectedFormat> detectFormat(FileSystem& files, const SourceFile& source) {
  RecordReader reader(files, {source});
  RawRecord record;
  for (int rows = 0; rows < rowsLookedAt;) {
    MILLRACE_TRY(const bool got, reader.next(record));
    if (!got) break;
    if (record.bytes.empty()) continue;
    ++rows;
    const RowOutline outline = outlineRow(record.bytes, "");
    if (const auto found = formatOf(outline, source.how.textField, record.line)) return *found;
  }
  return DetectedFormat{DataFormat::Jsonl, "no row tells another format"};
}

Status detectFormats(FileSystem& files, std::vector<SourceFile>& sources) {
  for (SourceFile& source : sources) {
    if (source.how.format != DataFormat::Auto) continue;
    MILLRACE_TRY(const DetectedFormat found, detectFormat(files, source));
    source.how.format = found.format;
  }
  return {};
}

} // namespace millrace

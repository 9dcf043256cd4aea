// The readers of rows: JSON lines and lists, what they hold, and every format of them. The first byte says which.
#include "data/format_detection.h"
#include "data/record_decoder.h"
#include "support/memory_file_system.h"
#include "text/utf8.h"

#include <cstddef>
#include <cstdint>

using namespace millrace;

namespace {

void check(const DecodedRecord& record) {
  if (!isValidUtf8(record.text)) __builtin_trap();
  if (!record.conversation) return;
  if (record.conversation->messages().size() != record.conversation->learnable.size()) __builtin_trap();
  if (!isValidUtf8(record.conversation->contents())) __builtin_trap();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  test::MemoryFileSystem files;
  const Path path = "/rows.json";
  {
    const auto file = files.open(path, OpenMode::Create);
    if (!file || !(*file)->write(std::as_bytes(std::span(data + 1, size - 1)), 0)) __builtin_trap();
  }
  constexpr DataFormat formats[] = {DataFormat::Text, DataFormat::Jsonl, DataFormat::Alpaca, DataFormat::ShareGpt,
                                    DataFormat::Messages};
  const std::uint8_t choice = data[0];
  SourceFile source{path, RecordLayout::List, {formats[choice % 5], "text", "--", {}}};
  if (source.how.format == DataFormat::Text)
    source.layout = RecordLayout::Text;
  else if (choice & 64)
    source.layout = RecordLayout::Lines;
  (void)detectFormat(files, source);
  RecordReader reader(files, {source}, {.fragment = 64, .document = 256, .row = 4096});
  RawRecord record;
  for (;;) {
    const auto got = reader.next(record);
    if (!got || !*got) return 0;
    if (record.line < 1 || static_cast<std::size_t>(record.line) > size) __builtin_trap();
    check(decodeRecord(source, record));
  }
}

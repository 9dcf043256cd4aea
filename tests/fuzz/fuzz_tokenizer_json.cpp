// The reader of tokenizer.json, and encoding and decoding with what it lets pass.
#include "text/tokenizer.h"
#include "text/utf8.h"

#include <cstddef>
#include <cstdint>

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tokenizer = Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!tokenizer) return 0;
  for (const std::string_view text : {"", " ", "Hello world 12345!\n\n\t x<s>",
                                      "\xC3\xA9\xE4\xBD\xA0 \xF0\x9F\x98\x80\xCC\x81", "\xFF\xE4\xBD broken \xF0"}) {
    const auto ids = tokenizer->encode(text, true);
    if (!ids) continue;
    for (const std::int32_t id : *ids)
      if (id < 0 || id >= tokenizer->vocabularySize()) __builtin_trap();
    if (!isValidUtf8(tokenizer->decode(*ids, false))) __builtin_trap();
  }
  return 0;
}

// What is done with bytes that somebody else wrote, for fuzzing and for the short run in test_fuzz_model_files: each
// takes any bytes, and has only not to crash, hang, take unbounded memory or break a promise of the reader's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace::fuzz {

using Bytes8 = std::span<const std::uint8_t>;

/// A safetensors file: header, then every tensor's contents.
void safetensorsFile(Bytes8 bytes);
/// model.safetensors.index.json in a folder with two shards.
void safetensorsIndex(Bytes8 bytes);
/// config.json: read, laid out as blocks where it is small, written and read again.
void modelConfig(Bytes8 bytes);
/// tokenizer.json, as far as its added tokens make a model grow.
void addedTokens(Bytes8 bytes);

} // namespace millrace::fuzz

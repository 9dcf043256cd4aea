#include "fuzz/model_file_targets.h"

#include "model/blocks.h"
#include "model/config_import.h"
#include "model/vocabulary_growth.h"
#include "storage/safetensors.h"
#include "support/memory_file_system.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::fuzz {

namespace {

std::string_view textOf(Bytes8 bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A promise that was broken: fuzzers and tests see the abort.
void require(bool promise) {
  if (!promise) std::abort();
}

void put(FileSystem& files, const Path& path, std::string_view text) {
  const auto file = valueOrThrow(files.open(path, OpenMode::Create));
  valueOrThrow(file->write(std::as_bytes(std::span(text)), 0));
}

/// A file with one tensor of one element.
std::string smallFile(const std::string& tensor) {
  const std::string header = R"({")" + tensor + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  return bytes + header + std::string(4, '\0');
}

/// Every tensor lies in the file, and all of them can be read.
void readAll(const SafetensorsReader& reader) {
  for (const StoredTensor& tensor : reader.tensors()) {
    require(tensor.bytes >= 0 && tensor.elements() >= 0 && reader.find(tensor.name) == &tensor);
    std::vector<std::byte> contents(static_cast<std::size_t>(tensor.bytes));
    require(reader.readBytes(tensor, 0, contents).has_value());
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    (void)reader.readFloats(tensor, 0, values);
  }
}

} // namespace

void safetensorsFile(Bytes8 bytes) {
  test::MemoryFileSystem files;
  put(files, "/model.safetensors", textOf(bytes));
  const auto reader = SafetensorsReader::open(files, "/model.safetensors");
  if (!reader) {
    require(reader.error().kind == ErrorKind::BadInput && !reader.error().message.empty());
    return;
  }
  Bytes total = 0;
  for (const StoredTensor& tensor : reader->tensors()) total += tensor.bytes;
  require(total <= static_cast<Bytes>(bytes.size()));
  readAll(*reader);
}

void safetensorsIndex(Bytes8 bytes) {
  test::MemoryFileSystem files;
  valueOrThrow(files.createDirectories("/model"));
  put(files, "/secret.safetensors", smallFile("a"));
  put(files, "/model/one.safetensors", smallFile("a"));
  put(files, "/model/two.safetensors", smallFile("b"));
  put(files, "/model/model.safetensors.index.json", textOf(bytes));
  const auto reader = SafetensorsReader::open(files, "/model");
  if (!reader) {
    require(reader.error().kind == ErrorKind::BadInput);
    return;
  }
  for (const StoredTensor& tensor : reader->tensors()) require(reader->path(tensor).parent_path() == "/model");
  readAll(*reader);
}

void modelConfig(Bytes8 bytes) {
  const auto json = parseJson(textOf(bytes), "config.json");
  if (!json) return;
  std::vector<std::string> warnings;
  const auto spec = modelSpecFromConfig(*json, "config.json", &warnings);
  if (!spec) {
    require(spec.error().kind == ErrorKind::BadInput);
    return;
  }
  require(parameterCount(*spec) > 0);
  const auto again = modelSpecFromConfig(configFromModelSpec(*spec, "float32"), "written");
  require(again.has_value() && *again == *spec);
}

void addedTokens(Bytes8 bytes) {
  const auto json = parseJson(textOf(bytes), "tokenizer.json");
  if (!json) return;
  const auto growth = vocabularyGrowth(*json, 10, "tokenizer.json");
  // However large the ids are that it names, the tables grow by no more rows than it has tokens.
  if (growth)
    require(growth->rows == 10 + static_cast<std::int64_t>(growth->added.size()) &&
            growth->added.size() <= bytes.size());
}

} // namespace millrace::fuzz

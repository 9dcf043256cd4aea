#include "storage/model_writer.h"

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json_reader.h"
#include "storage/float_conversion.h"
#include "storage/safetensors.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

constexpr const char* singleName = "model.safetensors";
constexpr const char* indexName = "model.safetensors.index.json";

struct Shard {
  std::vector<ParameterSpec> parameters;
  Bytes bytes = 0;
};

std::vector<Shard> shardsOf(const ModelSpec& spec, Bytes width, Bytes limit) {
  std::vector<Shard> shards(1);
  for (const BlockSpec& block : blocksOf(spec)) {
    for (const ParameterSpec& parameter : block.parameters) {
      const Bytes bytes = parameter.elements() * width;
      if (shards.back().bytes > 0 && bytes > limit - shards.back().bytes) shards.emplace_back();
      shards.back().parameters.push_back(parameter);
      shards.back().bytes += bytes;
    }
  }
  return shards;
}

/// Removes what was written unless told to keep it.
class Cleanup {
 public:
  explicit Cleanup(FileSystem& files) : m_files(files) {}
  ~Cleanup() {
    for (const Path& path : m_paths) (void)m_files.remove(path); // the error that led here is the one to report
  }
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  void add(Path path) { m_paths.push_back(std::move(path)); }
  void keep() { m_paths.clear(); }

 private:
  FileSystem& m_files;
  std::vector<Path> m_paths;
};

class ShardWriter {
 public:
  ShardWriter(StoredType type, Bytes bufferBytes, const FloatSource& source)
      : m_type(type), m_width(bytesPerElement(type)), m_source(source) {
    // One buffer for the fp32 values and one for what they are stored as, when that differs.
    const Bytes perElement = type == StoredType::F32 ? 4 : 4 + m_width;
    m_floats.resize(static_cast<std::size_t>(std::max<Bytes>(1, bufferBytes / perElement)));
    if (type != StoredType::F32) m_narrow.resize(m_floats.size() * static_cast<std::size_t>(m_width));
  }

  Result<WrittenFile> write(FileSystem& files, const Path& path, const Shard& shard) {
    std::vector<SafetensorsEntry> entries;
    for (const ParameterSpec& parameter : shard.parameters) {
      SafetensorsEntry entry{parameter.name, m_type, {}};
      for (int i = 0; i < parameter.shape.rank(); ++i) entry.shape.push_back(parameter.shape[i]);
      entries.push_back(std::move(entry));
    }
    MILLRACE_TRY(SafetensorsWriter writer,
                 SafetensorsWriter::create(files, path, std::move(entries), {{"format", "pt"}}));
    for (const ParameterSpec& parameter : shard.parameters) MILLRACE_CHECK(append(writer, parameter));
    MILLRACE_CHECK(writer.commit());
    return WrittenFile{path.filename().string(), writer.fileBytes(), writer.checksum()};
  }

 private:
  Status append(SafetensorsWriter& writer, const ParameterSpec& parameter) {
    const std::int64_t total = parameter.elements();
    for (std::int64_t first = 0; first < total;) {
      const auto count = static_cast<std::size_t>(std::min(total - first, static_cast<std::int64_t>(m_floats.size())));
      const std::span floats = std::span(m_floats).first(count);
      MILLRACE_CHECK(m_source(parameter, first, floats));
      if (m_type == StoredType::F32) {
        MILLRACE_CHECK(writer.append(std::as_bytes(floats)));
      } else {
        const std::span stored = std::span(m_narrow).first(count * static_cast<std::size_t>(m_width));
        narrowFromFloats(m_type, floats, stored);
        MILLRACE_CHECK(writer.append(stored));
      }
      first += static_cast<std::int64_t>(count);
    }
    return {};
  }

  StoredType m_type;
  Bytes m_width;
  const FloatSource& m_source;
  std::vector<float> m_floats;
  std::vector<std::byte> m_narrow;
};

Result<WrittenFile> writeIndex(FileSystem& files, const Path& path, const std::vector<Shard>& shards,
                               const std::vector<WrittenFile>& written) {
  nlohmann::json map = nlohmann::json::object(); // sorted by name
  Bytes total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    total += shards[i].bytes;
    for (const ParameterSpec& parameter : shards[i].parameters) map[parameter.name] = written[i].name;
  }
  const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}};
  const std::string text = index.dump(2) + "\n";
  MILLRACE_CHECK(writeTextFile(files, path, text));
  Hasher128 hasher;
  hasher.update(text);
  return WrittenFile{path.filename().string(), static_cast<Bytes>(text.size()), hasher.hex()};
}

} // namespace

Result<std::vector<WrittenFile>> writeModelTensors(FileSystem& files, const Path& folder, const ModelSpec& spec,
                                                   const ModelWriteOptions& options, const FloatSource& source) {
  assert(options.type == StoredType::F32 || options.type == StoredType::BF16 || options.type == StoredType::F16);
  for (const char* name : {singleName, indexName})
    if (files.exists(folder / name))
      return badInput(fmt::format("{}: is there already; write to an empty folder", (folder / name).string()));
  const std::vector<Shard> shards = shardsOf(spec, bytesPerElement(options.type), options.maxShardBytes);
  ShardWriter writer(options.type, options.bufferBytes, source);
  Cleanup cleanup(files);
  std::vector<WrittenFile> written;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1 ? std::string(singleName)
                                                : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    cleanup.add(folder / name);
    MILLRACE_TRY(WrittenFile file, writer.write(files, folder / name, shards[i]));
    written.push_back(std::move(file));
  }
  if (shards.size() > 1) {
    cleanup.add(folder / indexName);
    MILLRACE_TRY(WrittenFile file, writeIndex(files, folder / indexName, shards, written));
    written.push_back(std::move(file));
  }
  cleanup.keep();
  return written;
}

} // namespace millrace

// safetensors, single files and shards with an index: read (hostile until checked) and written atomically.
#pragma once

#include "base/file.h"
#include "base/json_reader.h"
#include "tensor/tensor.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// Element types that files may hold; wider than what kernels compute with.
enum class StoredType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::F32;
  std::vector<std::int64_t> shape;
  std::size_t file = 0; ///< index of the shard
  Bytes offset = 0;     ///< in the file, absolute
  Bytes bytes = 0;
  std::int64_t elements() const;
};

/// A model's tensors over one or several files. Headers are read and checked at open: lengths, offsets, overlaps,
/// dtypes, sizes, names; contents on demand. Const calls are thread-safe.
class SafetensorsReader {
 public:
  /// A folder (model.safetensors, or model.safetensors.index.json and its shards) or one file.
  static Result<SafetensorsReader> open(FileSystem& files, const Path& path);

  const std::vector<StoredTensor>& tensors() const { return m_tensors; }
  const StoredTensor* find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return m_metadata; }

  /// The tensor's elements [first, first + destination.size()) as fp32 (from F32, BF16, F16 or F64; else BadInput).
  Status readFloats(const StoredTensor& tensor, std::int64_t first, std::span<float> destination) const;
  /// Its raw bytes from a byte offset inside the tensor.
  Status readBytes(const StoredTensor& tensor, Bytes first, std::span<std::byte> destination) const;

 private:
  std::vector<std::unique_ptr<File>> m_files;
  std::vector<Path> m_paths;
  std::vector<StoredTensor> m_tensors;
  std::map<std::string, std::size_t> m_byName;
  std::map<std::string, std::string> m_metadata;
};

/// Writes one file whose tensors' sizes are known beforehand: header first, then contents in order, in pieces. Nothing
/// appears under the final name before commit().
class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    StoredType type = StoredType::F32;
    std::vector<std::int64_t> shape;
  };
  static Result<SafetensorsWriter> create(FileSystem& files, const Path& path, std::vector<Entry> entries,
                                          const std::map<std::string, std::string>& metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(SafetensorsWriter&&) noexcept;

  /// The next bytes of the tensor data, in the order of entries.
  Status append(std::span<const std::byte> bytes);
  /// Fails when not all bytes were appended. Flushes and renames.
  Status commit();
  /// XXH3-128 of the whole file and its size; valid once all bytes are appended.
  std::string checksum() const;
  Bytes fileBytes() const;

 private:
  struct Implementation;
  explicit SafetensorsWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace

// safetensors, single files and shards with an index: read (hostile until checked) and written atomically.
#pragma once

#include "base/file.h"
#include "storage/safetensors_header.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// A model's tensors over one or several files. Headers are read and checked at open: lengths, offsets, overlaps,
/// dtypes, sizes, names; contents on demand. Const calls are thread-safe.
class SafetensorsReader {
 public:
  /// A folder (model.safetensors, or model.safetensors.index.json and its shards), one file, or an index.
  static Result<SafetensorsReader> open(FileSystem& files, const Path& path);

  const std::vector<StoredTensor>& tensors() const { return m_tensors; }
  const StoredTensor* find(const std::string& name) const;
  const Path& path(const StoredTensor& tensor) const { return m_paths[tensor.file]; }
  const std::map<std::string, std::string>& metadata() const { return m_metadata; }

  /// The tensor's elements [first, first + destination.size()) as fp32 (from F32, BF16, F16 or F64; else BadInput).
  Status readFloats(const StoredTensor& tensor, std::int64_t first, std::span<float> destination) const;
  /// Its raw bytes from a byte offset inside the tensor.
  Status readBytes(const StoredTensor& tensor, Bytes first, std::span<std::byte> destination) const;

 private:
  SafetensorsReader() = default;
  Status addFile(FileSystem& files, const Path& path);
  Status addIndex(FileSystem& files, const Path& index);

  std::vector<std::unique_ptr<File>> m_files;
  std::vector<Path> m_paths;
  std::vector<StoredTensor> m_tensors;
  std::map<std::string, std::size_t> m_byName;
  std::map<std::string, std::string> m_metadata;
};

/// Writes one file whose tensors' sizes are known beforehand: header first, then contents in order, in pieces. Nothing
/// appears under the final name before commit(). One thread at a time.
class SafetensorsWriter {
 public:
  using Entry = SafetensorsEntry;
  /// metadata: {"format": "pt"} is what other programs look for.
  static Result<SafetensorsWriter> create(FileSystem& files, const Path& path, std::vector<Entry> entries,
                                          const std::map<std::string, std::string>& metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(SafetensorsWriter&&) noexcept;

  /// The next bytes of the tensor data, in the order of entries.
  Status append(std::span<const std::byte> bytes);
  /// Fails when not all bytes were appended. Flushes and renames.
  Status commit();
  /// XXH3-128 of the whole file, valid once all bytes are appended, and the size it then has.
  std::string checksum() const;
  Bytes fileBytes() const;

 private:
  struct Implementation;
  explicit SafetensorsWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace

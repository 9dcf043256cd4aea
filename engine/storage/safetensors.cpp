#include "storage/safetensors.h"

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json_reader.h"
#include "model/foreign_models.h"
#include "storage/float_conversion.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

constexpr std::size_t maximumShards = 10'000;
constexpr std::size_t listedNames = 20; ///< names in one message

/// A plain file name beside the index: anything that could lead out of the folder is refused.
bool staysInFolder(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(),
                      [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() <= listedNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + listedNames, ", "),
                     names.size() - listedNames);
}

Result<SafetensorsHeader> readHeader(const File& file, const std::string& source) {
  MILLRACE_TRY(const Bytes size, file.size());
  if (size < 8) return badInput(fmt::format("{}: has {} bytes, a safetensors file has at least 10", source, size));
  std::array<std::byte, 8> prefix{};
  MILLRACE_CHECK(file.read(prefix, 0));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= static_cast<std::uint64_t>(prefix[i]) << (8 * i);
  // What a clone without its large files leaves in their place.
  if (constexpr std::uint64_t pointer = 0x206E6F6973726576; length == pointer) // "version "
    return badInput(
        fmt::format("{}: is the pointer of Git LFS to a file that was not downloaded; run git lfs pull in its "
                    "folder, or download it",
                    source));
  if (length > static_cast<std::uint64_t>(maximumSafetensorsHeader))
    return badInput(fmt::format("{}: the length of the header, in bytes 0 to 7, is {}, at most {} is possible: not a "
                                "safetensors file",
                                source, length, maximumSafetensorsHeader));
  if (static_cast<Bytes>(length) > size - 8)
    return badInput(fmt::format("{}: the header takes {} bytes from byte 8, but the file has {} bytes: it is "
                                "truncated; copy or download it again",
                                source, length, size));
  std::string text(static_cast<std::size_t>(length), '\0');
  MILLRACE_CHECK(file.read(std::as_writable_bytes(std::span(text)), 8));
  return parseSafetensorsHeader(text, size, source);
}

} // namespace

Result<SafetensorsReader> SafetensorsReader::open(FileSystem& files, const Path& path) {
  SafetensorsReader reader;
  if (files.isDirectory(path)) {
    const Path single = path / "model.safetensors";
    const Path index = path / "model.safetensors.index.json";
    if (files.exists(single)) {
      MILLRACE_CHECK(reader.addFile(files, single));
    } else if (files.exists(index)) {
      MILLRACE_CHECK(reader.addIndex(files, index));
    } else {
      return badInput(fmt::format("{}: holds neither model.safetensors nor model.safetensors.index.json{}",
                                  path.string(), adviceOnWeights(files, path)));
    }
  } else if (path.string().ends_with(".index.json")) {
    MILLRACE_CHECK(reader.addIndex(files, path));
  } else {
    MILLRACE_CHECK(reader.addFile(files, path));
  }
  return reader;
}

Status SafetensorsReader::addFile(FileSystem& files, const Path& path) {
  MILLRACE_TRY(auto file, files.open(path, OpenMode::Read));
  MILLRACE_TRY(SafetensorsHeader header, readHeader(*file, path.string()));
  for (StoredTensor& tensor : header.tensors) {
    tensor.file = m_files.size();
    const auto [entry, added] = m_byName.emplace(tensor.name, m_tensors.size());
    if (!added)
      return badInput(fmt::format("{}: tensor '{}' is also in {}", path.string(), tensor.name,
                                  this->path(m_tensors[entry->second]).string()));
    m_tensors.push_back(std::move(tensor));
  }
  m_metadata.merge(header.metadata);
  m_files.push_back(std::move(file));
  m_paths.push_back(path);
  return {};
}

Status SafetensorsReader::addIndex(FileSystem& files, const Path& index) {
  MILLRACE_TRY(const Json root, readJsonFile(files, index, maximumSafetensorsHeader));
  const std::string source = index.string();
  JsonReader reader(root, source);
  const Json& map = reader.object("weight_map");
  if (reader.status() && map.empty()) reader.problem("weight_map", "is missing or empty");
  MILLRACE_CHECK(reader.status());

  std::map<std::string, std::vector<const std::string*>> shards; // file name -> tensors
  for (const auto& [tensor, file] : map.items()) {
    const auto* name = file.get_ptr<const std::string*>();
    if (!name || !staysInFolder(*name))
      return badInput(fmt::format("{}: weight_map.{} is {}, expected the name of a file in the same folder", source,
                                  tensor, file.dump(-1, ' ', false, Json::error_handler_t::replace)));
    shards[*name].push_back(&tensor);
  }
  if (shards.size() > maximumShards)
    return badInput(fmt::format("{}: names {} files, at most {} are possible", source, shards.size(), maximumShards));
  const Path folder = index.has_parent_path() ? index.parent_path() : Path(".");
  std::vector<std::string> missing;
  for (const auto& [name, tensors] : shards)
    if (!files.exists(folder / name)) missing.push_back(name);
  if (!missing.empty())
    return badInput(
        fmt::format("{}: names files that are not there: {}; copy or download them again", source, listed(missing)));
  for (const auto& [name, tensors] : shards) MILLRACE_CHECK(addFile(files, folder / name));
  for (const auto& [name, tensors] : shards) {
    std::vector<std::string> absent;
    for (const std::string* tensor : tensors) {
      const StoredTensor* found = find(*tensor);
      if (!found || m_paths[found->file] != folder / name) absent.push_back(*tensor);
    }
    if (!absent.empty())
      return badInput(fmt::format("{}: tensors that should be in {} are not there: {}", source, name, listed(absent)));
  }
  return {};
}

const StoredTensor* SafetensorsReader::find(const std::string& name) const {
  const auto entry = m_byName.find(name);
  return entry == m_byName.end() ? nullptr : &m_tensors[entry->second];
}

Status SafetensorsReader::readBytes(const StoredTensor& tensor, Bytes first, std::span<std::byte> destination) const {
  assert(first >= 0 && first <= tensor.bytes && static_cast<Bytes>(destination.size()) <= tensor.bytes - first);
  return m_files[tensor.file]->read(destination, tensor.offset + first);
}

Status SafetensorsReader::readFloats(const StoredTensor& tensor, std::int64_t first,
                                     std::span<float> destination) const {
  if (!isFloatType(tensor.type))
    return badInput(fmt::format("{}: tensor '{}' holds {}, expected floating-point numbers", path(tensor).string(),
                                tensor.name, toString(tensor.type)));
  const Bytes width = bytesPerElement(tensor.type);
  if (tensor.type == StoredType::F32) return readBytes(tensor, first * width, std::as_writable_bytes(destination));
  constexpr std::size_t pieceElements = 128 * 1024;
  std::vector<std::byte> buffer(std::min(destination.size(), pieceElements) * static_cast<std::size_t>(width));
  while (!destination.empty()) {
    const std::size_t count = std::min(destination.size(), pieceElements);
    const std::span piece(buffer.data(), count * static_cast<std::size_t>(width));
    MILLRACE_CHECK(readBytes(tensor, first * width, piece));
    widenToFloats(tensor.type, piece, destination.first(count));
    destination = destination.subspan(count);
    first += static_cast<std::int64_t>(count);
  }
  return {};
}

struct SafetensorsWriter::Implementation {
  Implementation(AtomicFile output, Path name, Bytes total)
      : file(std::move(output)), path(std::move(name)), totalBytes(total) {}

  AtomicFile file;
  Path path;
  Bytes totalBytes;
  Hasher128 hasher;

  Status write(std::span<const std::byte> bytes) {
    MILLRACE_CHECK(file.write(bytes));
    hasher.update(bytes);
    return {};
  }
};

SafetensorsWriter::SafetensorsWriter(std::unique_ptr<Implementation> implementation)
    : m_implementation(std::move(implementation)) {}
SafetensorsWriter::~SafetensorsWriter() = default;
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;

Result<SafetensorsWriter> SafetensorsWriter::create(FileSystem& files, const Path& path, std::vector<Entry> entries,
                                                    const std::map<std::string, std::string>& metadata) {
  MILLRACE_TRY(const FormattedHeader header, formatSafetensorsHeader(entries, metadata));
  MILLRACE_TRY(const Bytes total,
               checkedAdd(static_cast<Bytes>(header.bytes.size()), header.contentBytes, "the size of the file"));
  MILLRACE_TRY(AtomicFile file, AtomicFile::create(files, path));
  auto implementation = std::make_unique<Implementation>(std::move(file), path, total);
  MILLRACE_CHECK(implementation->write(std::as_bytes(std::span(header.bytes))));
  return SafetensorsWriter(std::move(implementation));
}

Status SafetensorsWriter::append(std::span<const std::byte> bytes) {
  Implementation& self = *m_implementation;
  if (static_cast<Bytes>(bytes.size()) > self.totalBytes - self.file.written())
    return failed(
        fmt::format("{}: more bytes were written than the tensors named in the header have", self.path.string()));
  return self.write(bytes);
}

Status SafetensorsWriter::commit() {
  Implementation& self = *m_implementation;
  if (self.file.written() != self.totalBytes)
    return failed(fmt::format("{}: only {} of {} bytes were written before the file was to be completed",
                              self.path.string(), self.file.written(), self.totalBytes));
  return self.file.commit();
}

std::string SafetensorsWriter::checksum() const {
  return m_implementation->hasher.hex();
}

Bytes SafetensorsWriter::fileBytes() const {
  return m_implementation->totalBytes;
}

} // namespace millrace

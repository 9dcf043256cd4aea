#include "checkpoint/checkpoint_reader.h"

#include "base/hash.h"
#include "base/json_reader.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shards.h"
#include "storage/safetensors.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace millrace {

namespace {

constexpr Bytes pieceBytes = 4 * MiB;

/// One file read from its first byte to its last, hashed on the way.
class CheckedStream {
 public:
  static Result<CheckedStream> open(FileSystem& files, const Path& folder, const ManifestFile& entry) {
    const Path path = folder / entry.name;
    if (!files.exists(path)) return badInput(fmt::format("{}: missing, the manifest names it", path.string()));
    MILLRACE_TRY(auto file, files.open(path, OpenMode::Read));
    MILLRACE_TRY(const Bytes size, file->size());
    if (size != entry.size)
      return badInput(fmt::format("{}: is {} bytes long, the manifest says {}: the file is damaged", path.string(),
                                  size, entry.size));
    return CheckedStream(path, std::move(file), entry);
  }

  Bytes position() const { return m_position; }

  Status read(std::span<std::byte> destination) {
    MILLRACE_CHECK(m_file->read(destination, m_position));
    m_hasher.update(destination);
    m_position += static_cast<Bytes>(destination.size());
    return {};
  }

  Status skipTo(Bytes position, std::vector<std::byte>& buffer) {
    while (m_position < position) {
      buffer.resize(static_cast<std::size_t>(std::min(pieceBytes, position - m_position)));
      MILLRACE_CHECK(read(buffer));
    }
    return {};
  }

  Status finish(std::vector<std::byte>& buffer) {
    MILLRACE_CHECK(skipTo(m_entry.size, buffer));
    if (m_hasher.hex() == m_entry.xxh3) return {};
    return badInput(fmt::format("{}: checksum is {}, the manifest says {}: the file is damaged", m_path.string(),
                                m_hasher.hex(), m_entry.xxh3));
  }

 private:
  CheckedStream(Path path, std::unique_ptr<File> file, const ManifestFile& entry)
      : m_path(std::move(path)), m_file(std::move(file)), m_entry(entry) {}

  Path m_path;
  std::unique_ptr<File> m_file;
  ManifestFile m_entry;
  Hasher128 m_hasher;
  Bytes m_position = 0;
};

class FolderReader {
 public:
  FolderReader(FileSystem& files, Path folder, const std::vector<BlockSpec>* blocks, TrainingState* state)
      : m_files(files), m_folder(std::move(folder)), m_blocks(blocks), m_state(state) {}

  Result<TrainerState> read() {
    MILLRACE_TRY(m_manifest, readManifest(m_files, m_folder));
    // Absence and truncation show at once, before gigabytes are read.
    for (const ManifestFile& entry : m_manifest.files) MILLRACE_CHECK(CheckedStream::open(m_files, m_folder, entry));
    MILLRACE_CHECK(expectTensors());
    for (const ManifestFile& entry : m_manifest.files) {
      const std::optional<StatePlane> plane = planeOf(entry.name);
      MILLRACE_CHECK(plane ? readShard(entry, *plane) : readOther(entry));
    }
    MILLRACE_CHECK(expectComplete());
    return readState();
  }

 private:
  /// Where a tensor goes, and in which planes it has been seen.
  struct Expected {
    std::size_t block = 0;
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape;
    std::array<bool, statePlanes.size()> seen{};
  };

  static std::optional<StatePlane> planeOf(const std::string& name) {
    if (!name.ends_with(".safetensors")) return std::nullopt;
    for (const StatePlane plane : statePlanes)
      if (name.starts_with(std::string(planeName(plane)) + "-")) return plane;
    return std::nullopt;
  }

  Status expectTensors() {
    if (!m_blocks) return {};
    for (std::size_t b = 0; b < m_blocks->size(); ++b)
      for (const ParameterSpec& parameter : (*m_blocks)[b].parameters)
        m_expected[parameter.name] = {b, parameter.offset, dimensionsOf(parameter.shape), {}};
    return {};
  }

  Status readOther(const ManifestFile& entry) {
    MILLRACE_TRY(CheckedStream stream, CheckedStream::open(m_files, m_folder, entry));
    return stream.finish(m_buffer);
  }

  Status readShard(const ManifestFile& entry, StatePlane plane) {
    const Path path = m_folder / entry.name;
    MILLRACE_TRY(const SafetensorsReader reader, SafetensorsReader::open(m_files, path));
    std::vector<StoredTensor> tensors = reader.tensors();
    std::sort(tensors.begin(), tensors.end(),
              [](const StoredTensor& a, const StoredTensor& b) { return a.offset < b.offset; });
    MILLRACE_TRY(CheckedStream stream, CheckedStream::open(m_files, m_folder, entry));
    for (const StoredTensor& tensor : tensors) {
      MILLRACE_TRY(const Expected* expected, accept(path, tensor, plane));
      MILLRACE_CHECK(stream.skipTo(tensor.offset, m_buffer));
      MILLRACE_CHECK(m_state ? fill(stream, tensor, *expected, plane)
                             : stream.skipTo(tensor.offset + tensor.bytes, m_buffer));
    }
    return stream.finish(m_buffer);
  }

  Result<const Expected*> accept(const Path& path, const StoredTensor& tensor, StatePlane plane) {
    auto entry = m_expected.find(tensor.name);
    if (entry == m_expected.end()) {
      if (m_blocks)
        return badInput(fmt::format("{}: holds the tensor {}, which the model does not have: it belongs to another "
                                    "model",
                                    path.string(), tensor.name));
      entry = m_expected.emplace(tensor.name, Expected{0, 0, tensor.shape, {}}).first;
    }
    Expected& expected = entry->second;
    if (tensor.type != StoredType::F32 || tensor.shape != expected.shape)
      return badInput(fmt::format("{}: tensor {} is ({}){}, expected ({}) in fp32: it belongs to another model",
                                  path.string(), tensor.name, fmt::join(tensor.shape, ", "),
                                  tensor.type == StoredType::F32 ? "" : " not in fp32",
                                  fmt::join(expected.shape, ", ")));
    bool& seen = expected.seen[static_cast<std::size_t>(plane)];
    if (seen) return badInput(fmt::format("{}: tensor {} stands in two files", path.string(), tensor.name));
    seen = true;
    return &expected;
  }

  Status fill(CheckedStream& stream, const StoredTensor& tensor, const Expected& expected, StatePlane plane) {
    const std::int64_t elements = tensor.elements();
    constexpr std::int64_t pieceElements = pieceBytes / static_cast<Bytes>(sizeof(float));
    for (std::int64_t first = 0; first < elements; first += pieceElements) {
      m_piece.resize(static_cast<std::size_t>(std::min(pieceElements, elements - first)));
      MILLRACE_CHECK(stream.read(std::as_writable_bytes(std::span(m_piece))));
      MILLRACE_CHECK(m_state->write(expected.block, plane, expected.offset + first, m_piece));
    }
    return {};
  }

  Status expectComplete() const {
    for (const auto& [name, expected] : m_expected)
      for (const StatePlane plane : statePlanes)
        if (!expected.seen[static_cast<std::size_t>(plane)])
          return badInput(fmt::format("{}: the tensor {} is in none of the {}-*.safetensors files: the checkpoint is "
                                      "incomplete or belongs to another model",
                                      m_folder.string(), name, planeName(plane)));
    return {};
  }

  Result<TrainerState> readState() const {
    const Path path = m_folder / "state.json";
    if (!m_manifest.find("state.json")) return badInput(fmt::format("{}: missing in the manifest", path.string()));
    MILLRACE_TRY(const Json json, readJsonFile(m_files, path));
    MILLRACE_TRY(TrainerState trainer, trainerStateFromJson(json, path.string()));
    if (trainer.step != m_manifest.step)
      return badInput(
          fmt::format("{}: step is {}, the manifest says {}", path.string(), trainer.step, m_manifest.step));
    return trainer;
  }

  FileSystem& m_files;
  Path m_folder;
  const std::vector<BlockSpec>* m_blocks;
  TrainingState* m_state;
  Manifest m_manifest;
  std::map<std::string, Expected> m_expected;
  std::vector<std::byte> m_buffer;
  std::vector<float> m_piece;
};

} // namespace

Result<TrainerState> verifyCheckpoint(FileSystem& files, const Path& folder, const std::vector<BlockSpec>* blocks) {
  return FolderReader(files, folder, blocks, nullptr).read();
}

Result<TrainerState> loadCheckpoint(FileSystem& files, const Path& folder, TrainingState& state) {
  return FolderReader(files, folder, &state.blocks(), &state).read();
}

Status verifyFile(FileSystem& files, const Path& folder, const ManifestFile& entry) {
  MILLRACE_TRY(CheckedStream stream, CheckedStream::open(files, folder, entry));
  std::vector<std::byte> buffer;
  return stream.finish(buffer);
}

Status verifySmallFiles(FileSystem& files, const Path& folder, Bytes most) {
  MILLRACE_TRY(const Manifest manifest, readManifest(files, folder));
  for (const ManifestFile& entry : manifest.files)
    if (entry.size <= most) MILLRACE_CHECK(verifyFile(files, folder, entry));
  return {};
}

} // namespace millrace

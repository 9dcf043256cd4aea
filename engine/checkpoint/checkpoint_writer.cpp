#include "checkpoint/checkpoint_writer.h"

#include "base/atomic_file.h"
#include "base/hash.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shards.h"
#include "storage/safetensors.h"

#include <bit>
#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

namespace millrace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian and written from memory");

namespace {

constexpr std::int64_t pieceElements = 1 << 18;
constexpr std::string_view temporaryMark = ".tmp-";
constexpr std::string_view replacedMark = ".replaced-";

class FolderWriter {
 public:
  FolderWriter(FileSystem& files, Path folder, const CheckpointContents& contents, const SaveOptions& options)
      : m_files(files),
        m_folder(std::move(folder)),
        m_contents(contents),
        m_options(options),
        m_blocks(contents.parameters.blocks()),
        m_shards(planShards(m_blocks, options.shardBytes)) {
    for (const Shard& shard : m_shards) m_total += 3 * shard.bytes;
  }

  Status write() {
    MILLRACE_CHECK(m_files.remove(m_folder));
    MILLRACE_CHECK(m_files.createDirectories(m_folder));
    m_manifest.step = m_contents.trainer.step;
    for (std::size_t i = 0; i < m_shards.size(); ++i) MILLRACE_CHECK(writeShard(i));
    MILLRACE_CHECK(writeText("model.safetensors.index.json", index()));
    if (!m_contents.config.empty()) MILLRACE_CHECK(writeText("config.json", m_contents.config));
    if (!m_contents.tokenizer.empty()) MILLRACE_CHECK(writeText("tokenizer.json", m_contents.tokenizer));
    for (const CheckpointFile& file : m_contents.companions) MILLRACE_CHECK(writeText(file.name, file.text));
    MILLRACE_CHECK(writeText("state.json", toJson(m_contents.trainer).dump(2) + "\n"));
    MILLRACE_CHECK(writeTextFile(m_files, m_folder / manifestName, manifestText(m_manifest)));
    MILLRACE_CHECK(m_files.syncDirectory(m_folder));
    return checkAbandoned();
  }

  Bytes written() const {
    Bytes bytes = 0;
    for (const ManifestFile& file : m_manifest.files) bytes += file.size;
    return bytes;
  }

 private:
  Status checkAbandoned() const {
    if (m_options.abandoned && m_options.abandoned())
      return failure(ErrorKind::Interrupted, fmt::format("the save of step {} was abandoned; the checkpoint before it "
                                                         "stands",
                                                         m_contents.trainer.step));
    return {};
  }

  /// One shard of all three planes at once, so that a block's planes are read together while they are near.
  Status writeShard(std::size_t shardIndex) {
    const Shard& shard = m_shards[shardIndex];
    std::vector<SafetensorsWriter::Entry> entries;
    for (const ShardTensor& tensor : shard.tensors) {
      const ParameterSpec& parameter = parameterOf(tensor);
      entries.push_back({parameter.name, StoredType::F32, dimensionsOf(parameter.shape)});
    }
    std::vector<SafetensorsWriter> writers;
    for (const StatePlane plane : statePlanes) {
      MILLRACE_TRY(SafetensorsWriter writer,
                   SafetensorsWriter::create(m_files, m_folder / shardName(plane, shardIndex, m_shards.size()), entries,
                                             {{"format", "pt"}}));
      writers.push_back(std::move(writer));
    }
    for (const ShardTensor& tensor : shard.tensors)
      for (std::size_t plane = 0; plane < statePlanes.size(); ++plane)
        MILLRACE_CHECK(writePlane(tensor, statePlanes[plane], writers[plane]));
    for (std::size_t plane = 0; plane < statePlanes.size(); ++plane) {
      MILLRACE_CHECK(writers[plane].commit());
      m_manifest.files.push_back({shardName(statePlanes[plane], shardIndex, m_shards.size()),
                                  writers[plane].fileBytes(), writers[plane].checksum()});
      MILLRACE_CHECK(checkAbandoned());
    }
    return {};
  }

  Status writePlane(const ShardTensor& tensor, StatePlane plane, SafetensorsWriter& writer) {
    const ParameterSpec& parameter = parameterOf(tensor);
    const std::int64_t elements = parameter.elements();
    for (std::int64_t first = 0; first < elements; first += pieceElements) {
      MILLRACE_CHECK(checkAbandoned());
      m_piece.resize(static_cast<std::size_t>(std::min(pieceElements, elements - first)));
      MILLRACE_CHECK(m_contents.parameters.read(tensor.block, plane, parameter.offset + first, m_piece));
      MILLRACE_CHECK(writer.append(std::as_bytes(std::span(m_piece))));
      m_done += static_cast<Bytes>(m_piece.size() * sizeof(float));
      if (m_options.progress) m_options.progress(m_done, m_total);
    }
    return {};
  }

  Status writeText(const std::string& name, std::string_view text) {
    MILLRACE_CHECK(writeTextFile(m_files, m_folder / name, text));
    Hasher128 hasher;
    hasher.update(text);
    m_manifest.files.push_back({name, static_cast<Bytes>(text.size()), hasher.hex()});
    return checkAbandoned();
  }

  /// What makes the folder a sharded model folder that others can load too.
  std::string index() const {
    Json json;
    json["metadata"]["total_size"] = m_total / 3;
    json["weight_map"] = Json::object();
    for (std::size_t i = 0; i < m_shards.size(); ++i)
      for (const ShardTensor& tensor : m_shards[i].tensors)
        json["weight_map"][parameterOf(tensor).name] = shardName(StatePlane::Master, i, m_shards.size());
    return json.dump(2) + "\n";
  }

  const ParameterSpec& parameterOf(const ShardTensor& tensor) const {
    return m_blocks[tensor.block].parameters[tensor.parameter];
  }

  FileSystem& m_files;
  Path m_folder;
  const CheckpointContents& m_contents;
  const SaveOptions& m_options;
  const std::vector<BlockSpec>& m_blocks;
  std::vector<Shard> m_shards;
  std::vector<float> m_piece;
  Manifest m_manifest;
  Bytes m_done = 0;
  Bytes m_total = 0;
};

/// The complete folder takes its final name. A folder that has the name already steps aside first and is put back by
/// removeLeftovers() should the process die in between.
Status install(FileSystem& files, const Path& checkpoints, const Path& temporary, const Path& final) {
  if (!files.exists(final)) {
    MILLRACE_CHECK(files.rename(temporary, final));
    return files.syncDirectory(checkpoints);
  }
  Path replaced = final;
  replaced += fmt::format("{}{}", replacedMark, ::getpid());
  MILLRACE_CHECK(files.remove(replaced));
  MILLRACE_CHECK(files.rename(final, replaced));
  if (Status renamed = files.rename(temporary, final); !renamed) {
    (void)files.rename(replaced, final); // should this fail too, removeLeftovers() does it
    return renamed;
  }
  MILLRACE_CHECK(files.syncDirectory(checkpoints));
  (void)files.remove(replaced); // a leftover at worst
  return {};
}

tl::unexpected<Error> noSpace(FileSystem& files, const Path& checkpoints, std::int64_t step, Bytes needed,
                              const std::string& cause) {
  const Result<Bytes> free = files.freeSpace(checkpoints);
  const std::string available = free ? formatBytes(*free) + " is free" : "the free space is unknown";
  const std::string advice = free && *free < needed ? fmt::format("free {} more", formatBytes(needed - *free))
                                                    : "free some space or raise the quota";
  return failure(ErrorKind::OutOfSpace,
                 fmt::format("{}: no room for the checkpoint of step {}: {} is needed, {}; {}, or keep fewer "
                             "checkpoints{}{}",
                             checkpoints.string(), step, formatBytes(needed), available, advice,
                             cause.empty() ? "" : ": ", cause));
}

} // namespace

std::string checkpointName(std::int64_t step) {
  return fmt::format("step-{:08}", step);
}

Result<SavedCheckpoint> writeCheckpoint(FileSystem& files, const Path& checkpoints, const CheckpointContents& contents,
                                        const SaveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t step = contents.trainer.step;
  const Path final = checkpoints / checkpointName(step);
  Path temporary = final;
  temporary += fmt::format("{}{}", temporaryMark, ::getpid());

  Bytes needed = checkpointBytes(contents.parameters.blocks()) +
                 static_cast<Bytes>(contents.config.size() + contents.tokenizer.size());
  for (const CheckpointFile& file : contents.companions) needed += static_cast<Bytes>(file.text.size());
  MILLRACE_TRY(const Bytes free, files.freeSpace(checkpoints));
  if (free < needed) return noSpace(files, checkpoints, step, needed, "");

  FolderWriter writer(files, temporary, contents, options);
  Status outcome = files.createDirectories(checkpoints);
  if (outcome) outcome = writer.write();
  if (outcome) outcome = install(files, checkpoints, temporary, final);
  if (!outcome) {
    (void)files.remove(temporary); // best effort: the name says that it is temporary
    if (outcome.error().kind == ErrorKind::OutOfSpace)
      return noSpace(files, checkpoints, step, needed, outcome.error().message);
    return tl::unexpected<Error>(std::move(outcome.error()));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return SavedCheckpoint{step, final, writer.written(), seconds.count()};
}

Status removeLeftovers(FileSystem& files, const Path& checkpoints) {
  if (!files.exists(checkpoints)) return {};
  MILLRACE_TRY(const std::vector<std::string> names, files.list(checkpoints));
  for (const std::string& name : names) {
    if (!name.starts_with("step-")) continue;
    if (name.find(temporaryMark) != std::string::npos) {
      MILLRACE_CHECK(files.remove(checkpoints / name));
    } else if (const auto mark = name.find(replacedMark); mark != std::string::npos) {
      const Path final = checkpoints / name.substr(0, mark);
      if (files.exists(final)) {
        MILLRACE_CHECK(files.remove(checkpoints / name));
      } else {
        MILLRACE_CHECK(files.rename(checkpoints / name, final));
        MILLRACE_CHECK(files.syncDirectory(checkpoints));
      }
    }
  }
  return {};
}

} // namespace millrace

#include "checkpoint/shards.h"

#include <fmt/format.h>

namespace millrace {

std::string_view planeName(StatePlane plane) {
  switch (plane) {
  case StatePlane::Master:
    return "model";
  case StatePlane::FirstMoment:
    return "first-moment";
  case StatePlane::SecondMoment:
    return "second-moment";
  }
  return "unknown";
}

std::vector<Shard> planShards(const std::vector<BlockSpec>& blocks, Bytes limit) {
  std::vector<Shard> shards;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t p = 0; p < blocks[b].parameters.size(); ++p) {
      const Bytes bytes = blocks[b].parameters[p].elements() * static_cast<Bytes>(sizeof(float));
      if (shards.empty() || (shards.back().bytes > 0 && shards.back().bytes + bytes > limit)) shards.emplace_back();
      shards.back().tensors.push_back({b, p});
      shards.back().bytes += bytes;
    }
  }
  return shards;
}

std::string shardName(StatePlane plane, std::size_t index, std::size_t count) {
  return fmt::format("{}-{:05}-of-{:05}.safetensors", planeName(plane), index + 1, count);
}

std::vector<std::int64_t> dimensionsOf(const Shape& shape) {
  std::vector<std::int64_t> dimensions;
  for (int i = 0; i < shape.rank(); ++i) dimensions.push_back(shape[i]);
  return dimensions;
}

Bytes checkpointBytes(const std::vector<BlockSpec>& blocks) {
  // A header entry is the name, a dtype, up to four dimensions and two offsets; the index repeats the name once more.
  constexpr Bytes entryBytes = 256;
  Bytes bytes = 256 * KiB; // state, manifest, folder entries, the last page of each file
  for (const BlockSpec& block : blocks) {
    for (const ParameterSpec& parameter : block.parameters) {
      const Bytes header = 4 * (entryBytes + static_cast<Bytes>(parameter.name.size()));
      bytes += 3 * parameter.elements() * static_cast<Bytes>(sizeof(float)) + header;
    }
  }
  return bytes + bytes / 4096;
}

} // namespace millrace

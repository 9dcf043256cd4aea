// How the parameters of a checkpoint are divided over files: the same cut for the masters and both moments, in block
// order, by whole tensors. Pure functions.
#pragma once

#include "base/units.h"
#include "checkpoint/training_state.h"

#include <array>
#include <string>
#include <vector>

namespace millrace {

constexpr std::array<StatePlane, 3> statePlanes = {StatePlane::Master, StatePlane::FirstMoment,
                                                   StatePlane::SecondMoment};

/// "model", "first-moment", "second-moment": what the plane's files are called.
std::string_view planeName(StatePlane plane);

struct ShardTensor {
  std::size_t block = 0;
  std::size_t parameter = 0; ///< index into BlockSpec::parameters
};

struct Shard {
  std::vector<ShardTensor> tensors;
  Bytes bytes = 0; ///< of one plane
};

/// At most `limit` bytes of tensors a shard, except that a larger tensor has a shard of its own.
std::vector<Shard> planShards(const std::vector<BlockSpec>& blocks, Bytes limit);

/// "model-00002-of-00005.safetensors"; index counts from 0.
std::string shardName(StatePlane plane, std::size_t index, std::size_t count);

std::vector<std::int64_t> dimensionsOf(const Shape& shape);

/// What a checkpoint of these blocks takes on the disk, its text files aside; never less than it will be.
Bytes checkpointBytes(const std::vector<BlockSpec>& blocks);

} // namespace millrace

// In which order a series of shards is trained on. Shards are taken in windows, and the rows of a window are shuffled
// among each other: so what comes next is known from the shards so far, and memory holds a window. The first windows
// are small, so that training begins with the first shard. Epoch 0 takes the shards as they are made, later ones in an
// order that is drawn anew. Pure.
#pragma once

#include "base/hash.h"
#include "data/permutation.h"

#include <algorithm>
#include <string>

namespace millrace {

/// Places [first, first + count) of an epoch's order of shards.
struct ShardWindow {
  std::size_t first = 0;
  std::size_t count = 0;
};

constexpr std::size_t largestWindow = 8;

/// The next one; begins with {}. Their counts are 1, 1, 2, 4, 8, 8, ...
inline ShardWindow after(const ShardWindow& window) {
  const std::size_t first = window.first + window.count;
  return {first, std::clamp<std::size_t>(first, 1, largestWindow)};
}

/// The shard at a place of an epoch's order, of so many. In epoch 0 the number of shards plays no part.
inline std::size_t shardAt(std::size_t place, std::size_t shards, std::uint64_t seed, std::int64_t epoch) {
  if (epoch == 0) return place;
  const Permutation order(shards, hash64("order of shards", seed), static_cast<std::uint64_t>(epoch));
  return static_cast<std::size_t>(order(place));
}

/// The order of a window's rows, laid end to end.
inline Permutation rowOrder(std::int64_t rows, const ShardWindow& window, std::uint64_t seed, std::int64_t epoch) {
  const std::uint64_t own = window.first == 0 ? seed : hash64("window at " + std::to_string(window.first), seed);
  return Permutation(static_cast<std::uint64_t>(rows), own, static_cast<std::uint64_t>(epoch));
}

} // namespace millrace

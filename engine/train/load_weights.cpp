#include "train/load_weights.h"

#include "model/initialization.h"

#include <algorithm>
#include <set>
#include <vector>

namespace millrace {

Status loadWeights(TensorStore& store, Stream& stream, const BlockValues& values) {
  constexpr std::int64_t piece = 1 << 20;
  std::vector<float> buffer;
  for (std::size_t b = 0; b < store.blocks().size(); ++b) {
    const BlockSpec& block = store.blocks()[b];
    for (std::int64_t first = 0; first < block.elements; first += piece) {
      buffer.resize(static_cast<std::size_t>(std::min(piece, block.elements - first)));
      MILLRACE_CHECK(values(block, first, buffer));
      store.write(stream, b, TensorStore::Quantity::Master, first, buffer);
    }
  }
  return {};
}

void drawWeights(TensorStore& store, Stream& stream, ThreadPool& pool, const ModelSpec& spec, std::uint64_t seed) {
  constexpr std::int64_t piece = 1 << 20;
  struct Piece {
    std::size_t block;
    std::int64_t first, count;
  };
  std::vector<Piece> onHost, onDevice;
  std::set<const void*> drawn;
  for (std::size_t b = 0; b < store.blocks().size(); ++b) {
    if (!drawn.insert(store.plane(b, Plane::Weights).data).second) continue;
    const std::int64_t elements = store.blocks()[b].elements;
    for (std::int64_t first = 0; first < elements; first += piece)
      (store.onDevice(b) ? onDevice : onHost).push_back({b, first, std::min(piece, elements - first)});
  }
  const auto draw = [&](const Piece& what) {
    std::vector<float> values(static_cast<std::size_t>(what.count));
    initialBlockValues(spec, store.blocks()[what.block], seed, what.first, values);
    return values;
  };
  pool.parallelFor(static_cast<std::int64_t>(onHost.size()), [&](std::int64_t i) {
    const Piece& what = onHost[static_cast<std::size_t>(i)];
    store.fill(what.block, what.first, draw(what));
  });
  // To the device through one stream: a few pieces are drawn at a time.
  const auto some = static_cast<std::size_t>(2 * pool.threads());
  std::vector<std::vector<float>> values(some);
  for (std::size_t begin = 0; begin < onDevice.size(); begin += some) {
    const std::size_t count = std::min(some, onDevice.size() - begin);
    pool.parallelFor(static_cast<std::int64_t>(count), [&](std::int64_t i) {
      values[static_cast<std::size_t>(i)] = draw(onDevice[begin + static_cast<std::size_t>(i)]);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const Piece& what = onDevice[begin + i];
      store.write(stream, what.block, TensorStore::Quantity::Master, what.first, values[i]);
    }
  }
}

} // namespace millrace

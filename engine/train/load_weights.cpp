#include "train/load_weights.h"

#include "model/initialization.h"

#include <algorithm>
#include <set>
#include <span>
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
      MILLRACE_CHECK(store.write(stream, b, TensorStore::Quantity::Master, first, buffer));
    }
  }
  return {};
}

Status drawWeights(TensorStore& store, Stream& stream, ThreadPool& pool, const ModelSpec& spec, std::uint64_t seed) {
  // Small pieces on many threads: what they take for a moment is not in the plan, and the allocator may keep it.
  constexpr std::int64_t piece = 1 << 14;
  constexpr std::int64_t piecesAtOnce = 64; // of what goes to the device through one stream, or to the disk
  std::vector<float> staged;
  std::set<const void*> drawn; // layers may share memory
  for (std::size_t b = 0; b < store.blocks().size(); ++b) {
    const void* memory = store.plane(b, Plane::Weights).data;
    if (memory && !drawn.insert(memory).second) continue;
    const std::int64_t elements = store.blocks()[b].elements;
    const auto draw = [&](std::int64_t first, std::span<float> values) {
      initialBlockValues(spec, store.blocks()[b], seed, first, values);
    };
    const auto inPieces = [&](std::int64_t begin, std::int64_t end, const auto& visit) {
      pool.parallelFor((end - begin + piece - 1) / piece, [&](std::int64_t i) {
        const std::int64_t first = begin + i * piece;
        visit(first, std::min(piece, end - first));
      });
    };
    if (store.fillable(b)) {
      inPieces(0, elements, [&](std::int64_t first, std::int64_t count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        draw(first, values);
        store.fill(b, first, values);
      });
      continue;
    }
    for (std::int64_t begin = 0; begin < elements; begin += piecesAtOnce * piece) {
      const std::int64_t end = std::min(elements, begin + piecesAtOnce * piece);
      staged.resize(static_cast<std::size_t>(end - begin));
      inPieces(begin, end, [&](std::int64_t first, std::int64_t count) {
        draw(first,
             std::span(staged).subspan(static_cast<std::size_t>(first - begin), static_cast<std::size_t>(count)));
      });
      MILLRACE_CHECK(store.write(stream, b, TensorStore::Quantity::Master, begin, staged));
    }
  }
  return {};
}

} // namespace millrace

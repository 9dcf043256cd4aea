#include "train/load_weights.h"

#include <algorithm>
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

} // namespace millrace

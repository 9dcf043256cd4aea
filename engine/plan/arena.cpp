#include "plan/arena.h"

#include <algorithm>
#include <numeric>

namespace millrace {

ArenaPacking packArena(const std::vector<Temporary>& temporaries) {
  std::vector<std::size_t> order(temporaries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return temporaries[a].bytes > temporaries[b].bytes; });
  ArenaPacking packing{std::vector<Bytes>(temporaries.size(), 0), 0};
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    const Temporary& mine = temporaries[i];
    std::vector<std::pair<Bytes, Bytes>> taken; // ranges of those alive at the same time
    for (const std::size_t j : placed)
      if (temporaries[j].first <= mine.last && mine.first <= temporaries[j].last)
        taken.emplace_back(packing.offsets[j], packing.offsets[j] + alignUp(temporaries[j].bytes));
    std::sort(taken.begin(), taken.end());
    Bytes offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + alignUp(mine.bytes)) break;
      offset = std::max(offset, end);
    }
    packing.offsets[i] = offset;
    packing.bytes = std::max(packing.bytes, offset + alignUp(mine.bytes));
    placed.push_back(i);
  }
  return packing;
}

} // namespace millrace

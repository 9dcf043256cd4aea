#include "data/sliding_windows.h"

#include "data/packed_rows.h"

#include <algorithm>
#include <cassert>

namespace millrace {

SlidingWindows::SlidingWindows(std::vector<std::int32_t> tokens, std::int64_t context, std::int64_t stride)
    : m_tokens(std::move(tokens)), m_context(context), m_stride(stride) {
  assert(context >= 1 && stride >= 1 && stride <= context);
  const auto count = static_cast<std::int64_t>(m_tokens.size());
  // The last one is the first that reaches the end.
  m_windows = count < 2 ? 0 : 1 + (std::max<std::int64_t>(0, count - context) + stride - 1) / stride;
}

MicroBatch SlidingWindows::batch(std::int64_t first, std::int64_t rows) const {
  assert(first >= 0 && first + rows <= m_windows);
  const auto count = static_cast<std::int64_t>(m_tokens.size());
  MicroBatch batch = makeMicroBatch(rows, m_context);
  std::fill(batch.targets.begin(), batch.targets.end(), -1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = (first + row) * m_stride;
    const std::int64_t end = std::min(begin + m_context, count);
    const std::int64_t counted = first + row == 0 ? 1 : begin - m_stride + m_context; // targets before it were counted
    const auto base = static_cast<std::size_t>(row * m_context);
    for (std::int64_t t = 0; t < m_context; ++t) {
      const auto at = base + static_cast<std::size_t>(t);
      const bool text = begin + t < end;
      const std::int64_t start = text ? 0 : end - begin;
      batch.tokens[at] = text ? m_tokens[static_cast<std::size_t>(begin + t)] : 0;
      batch.positions[at] = static_cast<std::int32_t>(t - start);
      batch.documentStart[at] = static_cast<std::int32_t>(start);
      if (begin + t + 1 < end && begin + t + 1 >= counted)
        batch.targets[at] = m_tokens[static_cast<std::size_t>(begin + t + 1)];
    }
  }
  return batch;
}

} // namespace millrace

#include "charts/min_max_pyramid.h"

#include "charts/drawable.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace millrace::ui {

void Extent::add(double value) {
  if (isDrawable(value)) {
    min = std::min(min, value);
    max = std::max(max, value);
    if (value > 0)
      minPositive = std::min(minPositive, value);
    else
      ++notPositive;
  } else if (std::isnan(value)) {
    ++nan;
  } else {
    ++(value > 0 ? positiveInfinite : negativeInfinite);
  }
}

void MinMaxPyramid::extend(ColumnView values, std::int64_t rows) {
  auto blocks = m_levels.empty() ? 0 : static_cast<std::int64_t>(m_levels[0].bounds.size());
  for (; (blocks + 1) * blockRows <= rows; ++blocks) {
    Extent extent;
    for (std::int64_t row = blocks * blockRows; row < (blocks + 1) * blockRows; ++row) extent.add(values[row]);
    push(0, extent);
  }
}

void MinMaxPyramid::push(std::size_t level, const Extent& extent) {
  if (!m_keepsRare && (extent.notFinite() > 0 || extent.notPositive > 0)) keepRare();
  if (level == m_levels.size()) m_levels.emplace_back();
  m_levels[level].bounds.push_back({extent.min, extent.max});
  if (m_keepsRare) {
    const auto count = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    m_levels[level].rare.push_back({extent.minPositive, count(extent.nan), count(extent.positiveInfinite),
                                    count(extent.negativeInfinite), count(extent.notPositive)});
  }
  const auto size = static_cast<std::int64_t>(m_levels[level].bounds.size());
  if (size % fanOut != 0) return;
  Extent parent;
  for (std::int64_t block = size - fanOut; block < size; ++block) merge(parent, level, block);
  push(level + 1, parent);
}

void MinMaxPyramid::keepRare() {
  m_keepsRare = true;
  for (Level& level : m_levels) {
    level.rare.reserve(level.bounds.capacity());
    for (const Bounds& bounds : level.bounds) level.rare.push_back({bounds.min, 0, 0, 0, 0});
  }
}

void MinMaxPyramid::truncate(std::int64_t rows) {
  std::int64_t blocks = rows / blockRows;
  for (Level& level : m_levels) {
    if (blocks >= static_cast<std::int64_t>(level.bounds.size())) return;
    level.bounds.resize(static_cast<std::size_t>(blocks));
    if (m_keepsRare) level.rare.resize(static_cast<std::size_t>(blocks));
    blocks /= fanOut;
  }
}

void MinMaxPyramid::merge(Extent& extent, std::size_t level, std::int64_t block) const {
  const auto index = static_cast<std::size_t>(block);
  const Bounds& bounds = m_levels[level].bounds[index];
  extent.min = std::min(extent.min, bounds.min);
  extent.max = std::max(extent.max, bounds.max);
  ++extent.reads;
  if (!m_keepsRare) {
    extent.minPositive = std::min(extent.minPositive, bounds.min);
    return;
  }
  const Rare& rare = m_levels[level].rare[index];
  extent.minPositive = std::min(extent.minPositive, rare.minPositive);
  extent.nan += rare.nan;
  extent.positiveInfinite += rare.positiveInfinite;
  extent.negativeInfinite += rare.negativeInfinite;
  extent.notPositive += rare.notPositive;
}

Extent MinMaxPyramid::extent(ColumnView values, std::int64_t begin, std::int64_t end) const {
  assert(0 <= begin && begin <= end);
  Extent extent;
  const auto read = [&](std::int64_t row) {
    extent.add(values[row]);
    ++extent.reads;
  };
  while (begin < end && begin % blockRows != 0) read(begin++);
  while (begin < end && end % blockRows != 0) read(--end);
  begin /= blockRows;
  end /= blockRows;
  for (std::size_t level = 0; begin < end; ++level) {
    while (begin < end && begin % fanOut != 0) merge(extent, level, begin++);
    while (begin < end && end % fanOut != 0) merge(extent, level, --end);
    begin /= fanOut;
    end /= fanOut;
  }
  return extent;
}

std::int64_t MinMaxPyramid::memoryBytes() const {
  std::size_t bytes = 0;
  for (const Level& level : m_levels)
    bytes += level.bounds.capacity() * sizeof(Bounds) + level.rare.capacity() * sizeof(Rare);
  return static_cast<std::int64_t>(bytes);
}

} // namespace millrace::ui

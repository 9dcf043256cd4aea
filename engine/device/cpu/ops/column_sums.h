// Gradients of a parameter vector: sums over the rows of a batch, in an order that only the shape decides. The rows are
// cut into parts; each part sums its rows in ascending order, then the parts are added in ascending order.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace millrace::cpu {

/// How many parts (rows, columns) is cut into: enough for the threads of a machine, few enough that adding them is
/// cheap.
std::int64_t columnSumParts(std::int64_t rows, std::int64_t columns);

/// target[c] += parts[0][c] + parts[1][c] + ...; parts (count, columns), rows `stride` apart.
void addColumnSums(ThreadPool& pool, const float* parts, std::int64_t count, std::int64_t columns, std::int64_t stride,
                   float* target, Isa isa);

/// sums(begin, end, part): writes the sums of rows [begin, end) to part, `vectors` vectors of `columns` floats one
/// after the other. Then targets[v] (columns) += the v-th vector.
template <std::size_t vectors, class Sums>
void columnSums(ThreadPool& pool, std::int64_t rows, std::int64_t columns, float* const (&targets)[vectors], Isa isa,
                Sums&& sums) {
  if (rows == 0 || columns == 0) return;
  constexpr auto count = static_cast<std::int64_t>(vectors);
  const std::int64_t parts = columnSumParts(rows, columns);
  const std::int64_t rowsPerPart = (rows + parts - 1) / parts;
  const std::int64_t used = (rows + rowsPerPart - 1) / rowsPerPart;
  std::vector<float> scratch(static_cast<std::size_t>(used * count * columns));
  pool.parallelFor(used, [&](std::int64_t part) {
    sums(part * rowsPerPart, std::min(rows, (part + 1) * rowsPerPart), scratch.data() + part * count * columns);
  });
  for (std::int64_t v = 0; v < count; ++v)
    addColumnSums(pool, scratch.data() + v * columns, used, columns, count * columns, targets[v], isa);
}

} // namespace millrace::cpu
